// Times kernels on a target.
#pragma once

#include <optional>
#include <vector>

#include "topdown/results/speed_table.h"
#include "topdown/runner/sandbox.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

// Launches the kernel's largest call on `runner` repeatedly for some milliseconds, with the same
// arguments: a kernel that updates them in place runs on its own results. Nothing if the suite has
// no call of it.
Result<std::optional<KernelSpeed>> time_kernel(const Suite& suite, int32_t kernel,
                                               runtime::KernelRunner& runner);

// Times `kernels` (of the suite) in the sandbox. Skips a kernel that crashes or hangs. If the
// platform fails otherwise, keeps the times so far and sets `failure`. Throws when cancelled;
// `cache` may be null.
SpeedTable measure_speed(const Suite& suite, const std::vector<int32_t>& kernels, Sandbox& sandbox,
                         pipeline::KernelCache* cache);

}  // namespace tapml::topdown
