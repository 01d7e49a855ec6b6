// Checks that a suite on disk is intact and still belongs to its model.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

struct SuiteCheck {
  Suite suite;                     // without tensors
  int64_t tensors = 0, bytes = 0;  // in the folder
  std::vector<Error> faults;       // everything that is missing, altered or inconsistent
};

// Reads everything and compares every hash; weights by reference in `model`, or, if that is empty,
// in the folder that the suite names. An error if suite.json itself cannot be read.
Result<SuiteCheck> verify_suite(const std::string& folder, const std::string& model = "",
                                const WorkWatcher& watcher = {});

// Names of the suite's kernels that the model no longer has. UserError if the fusion policy is not
// the model's, or if the model has none of the kernels. `fixed`: kernels formed.
Result<std::vector<std::string>> kernels_gone(const Suite& suite, const Module& fixed,
                                              const std::string& where);

}  // namespace tapml::topdown
