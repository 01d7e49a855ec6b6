// Groups the calls of a kernel by where in the model they come from.
#pragma once

#include <string>
#include <vector>

#include "topdown/suite/suite.h"

namespace tapml::topdown {

// Carved calls from one function of the model and the same layers.
struct CallGroup {
  std::string function;  // "prefill", ...
  Origin origin;
  int64_t sequence = 0;  // of the first call in the run
  int64_t calls = 0;     // carved calls
  int64_t compared = 0;  // of these
  double ratio = 0;      // the largest error over bound of these; infinity for an unexpected NaN
};

// The groups of `kernel`, in the order of their first calls; none is compared yet.
std::vector<CallGroup> call_groups(const Suite& suite, int32_t kernel);
// The group of `call`; added if missing.
CallGroup& group_of(std::vector<CallGroup>& groups, const SuiteCall& call);

}  // namespace tapml::topdown
