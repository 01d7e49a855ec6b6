// What a carve wrote, in numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topdown/reference_run/import_check.h"
#include "topdown/suite/source_nan.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

struct CarveSummary {
  std::string suite;  // its folder
  int64_t kernels = 0, calls = 0;
  int64_t added = 0;  // of the calls: those that the run did not have
  int64_t tensors = 0, bytes = 0;
  int64_t weights = 0;  // by reference
  int64_t dropped = 0;  // calls of the run
  int64_t edge_added = 0;
  std::vector<std::string> edge_unsupported;
  std::optional<SourceNaN> nan;
  std::optional<ImportCheck> import;
  std::string incomplete;  // why; empty: it is complete
  std::vector<KernelUse> untested;
};

// The counts that the suite itself has.
CarveSummary carve_summary(const Suite& suite, const std::string& folder);

}  // namespace tapml::topdown
