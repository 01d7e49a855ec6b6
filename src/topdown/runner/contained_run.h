// Kernels in a sandbox: what crashes and hangs there is a verdict.
#pragma once

#include <functional>

#include "topdown/results/kernel_verdict.h"
#include "topdown/runner/sandbox.h"

namespace tapml::topdown {

// Whether an error says that a call cannot be made, which is a verdict of the kernel.
bool is_refusal(const Error& error);
// Of an error that a sandbox contains.
Failure failure_of(const Error& contained);

// Runs kernels in the sandbox. A crash that comes again in a fresh process and a
// hang are `failed` of the verdict, beside the error; `run` may set it itself, and may be called
// again.
Status run_contained(Sandbox& sandbox, KernelVerdict& verdict,
                     const std::function<Status(runtime::KernelRunner&)>& run);

}  // namespace tapml::topdown
