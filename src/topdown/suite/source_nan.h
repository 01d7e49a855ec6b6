// NaN in the trusted run itself: no kernel after it can be tested.
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
  std::vector<std::string> inputs;  // of those that already had NaN: weights or intermediate values
  int64_t calls = 0;                // calls with NaN in an output
};

// One sentence: where, from which inputs, how often, and what to do.
std::string source_nan_text(const SourceNaN& nan);

}  // namespace tapml::topdown
