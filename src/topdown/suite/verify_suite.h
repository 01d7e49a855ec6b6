// Whether a suite on disk is what was carved, and still belongs to its model.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

struct SuiteCheck {
  Suite suite;                     // without tensors
  int64_t tensors = 0, bytes = 0;  // in the folder
  std::vector<Error> faults;       // everything that is missing, altered or does not fit
};

// Reads everything and compares every hash; weights by reference in `model`, or where that is empty
// in the folder that the suite names. An error where suite.json itself cannot be read.
Result<SuiteCheck> verify_suite(const std::string& folder, const std::string& model = "",
                                const WorkWatcher& watcher = {});

// Names of the suite's kernels that the model no longer has. UserError where the fusion policy is
// another one than the model's, and where it has none of the kernels. `fixed`: kernels formed.
Result<std::vector<std::string>> kernels_gone(const Suite& suite, const Module& fixed,
                                              const std::string& where);

}  // namespace tapml::topdown
