// Runs kernels in a sandbox, where a crash or a hang is a verdict.
#pragma once

#include <functional>

#include "topdown/results/kernel_verdict.h"
#include "topdown/runner/sandbox.h"

namespace tapml::topdown {

// Whether an error says that a call cannot be made, which is a verdict on the kernel.
bool is_refusal(const Error& error);
// The failure for an error that a sandbox contains.
Failure failure_of(const Error& contained);

// Runs kernels in the sandbox. A hang, and a crash that repeats in a fresh process, set `failed` of
// the verdict in addition to the error; `run` may also set it, and may be called again.
Status run_contained(Sandbox& sandbox, KernelVerdict& verdict,
                     const std::function<Status(runtime::KernelRunner&)>& run);

}  // namespace tapml::topdown
