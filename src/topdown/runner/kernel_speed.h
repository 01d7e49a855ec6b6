// Times kernels on a target.
#pragma once

#include <optional>
#include <vector>

#include "topdown/results/speed_table.h"
#include "topdown/runner/sandbox.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

// Launches the kernel's largest call on `runner` again and again for some milliseconds, on the same
// arguments: a kernel that updates them in place runs on its own results. Nothing where the suite
// has no call of it.
Result<std::optional<KernelSpeed>> time_kernel(const Suite& suite, int32_t kernel,
                                               runtime::KernelRunner& runner);

// Times `kernels` (of the suite) in the sandbox. One that crashes or hangs is left out; where the
// platform fails otherwise, the rest is missing and `failure` says why: what was found out before
// is worth more than its speed. Throws when cancelled; `cache` may be null.
SpeedTable measure_speed(const Suite& suite, const std::vector<int32_t>& kernels, Sandbox& sandbox,
                         pipeline::KernelCache* cache);

}  // namespace tapml::topdown
