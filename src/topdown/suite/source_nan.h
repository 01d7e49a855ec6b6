// NaN in the trusted run itself: behind it no kernel can be judged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "abi/origin.h"

namespace tapml::topdown {

// The first NaN that the source computed.
struct SourceNaN {
  std::string kernel, output;
  int64_t sequence = 0;
  Origin origin;
  std::vector<std::string> inputs;  // of that call that had NaN already: weights, or the run's own
  int64_t calls = 0;                // that have NaN in an output
};

// One sentence: where, from what, how often, what to do.
std::string source_nan_text(const SourceNaN& nan);

}  // namespace tapml::topdown
