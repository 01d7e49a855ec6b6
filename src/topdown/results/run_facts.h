// The date, the machine and the model of a result.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/host/machine_info.h"
#include "topdown/reference_run/import_check.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

// What a reader wants to know before believing a report.
struct RunFacts {
  std::string date;  // UTC; empty: nothing is known about the run
  std::string version;
  MachineInfo machine;
  std::string model;  // as given to the command, or the suite
  // The first half of a SHA-256 in hexadecimal: of names, types and contents of all weights
  // (weights_hash), or of a suite's kernels, calls and tensors (suite_hash).
  std::string hash;
  std::string hashed;  // "weights" or "suite"
  // Of a model: how its import compares with the published implementation; empty: nothing but tapml
  // vouches for it.
  std::optional<ImportCheck> import;
};

// The facts of the current time, program and machine. The date is SOURCE_DATE_EPOCH if that is set,
// so that reports can be reproduced byte for byte.
RunFacts run_facts(const std::string& model, const std::map<std::string, HostTensor>& weights);
RunFacts run_facts(const std::string& name, const Suite& suite);
RunFacts run_facts(const std::string& model);  // without a hash

// Seconds since 1970 as "2026-11-26T09:46:22Z".
std::string iso_date(int64_t seconds);

}  // namespace tapml::topdown
