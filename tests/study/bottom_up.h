// The alternative to topdown tests: each kernel by itself on random inputs.
#pragma once

#include <set>

#include "study/bugs.h"

namespace tapml::study {

// Kernels that crash, or whose output on random inputs, with the shapes of their first carved call,
// is not within rtol 1e-2 and atol 1e-2 of the source's.
std::set<std::string> bottom_up(Setting& setting, const std::vector<Bug>& bugs);

}  // namespace tapml::study
