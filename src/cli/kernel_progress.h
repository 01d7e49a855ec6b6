// Shows what topdown/ works on.
#pragma once

#include <functional>
#include <string>

#include "base/host/progress.h"

namespace tapml::cli {

// The `progress` of topdown's options: a phase with kernels is called `phase` or, where that is
// empty, as the first word of its steps. Throws once interrupted. `progress` outlives it.
std::function<void(const std::string& step, int64_t done, int64_t total)> kernel_progress(
    Progress& progress, const std::string& phase = "");

}  // namespace tapml::cli
