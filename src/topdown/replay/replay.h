// Replays carved tests on a target, checked at operator level.
#pragma once

#include "topdown/reference_run/kernel_reference.h"
#include "topdown/results/kernel_verdict.h"
#include "topdown/results/replay_options.h"
#include "topdown/runner/sandbox.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

// Runs kernel `kernel` of the suite on `runner` for every carved call. A platform error stays an
// error; a kernel that cannot run is a verdict. UserError if the suite has no call of it. Checks
// the outputs of the first launch of each call, and those of later ones with different bits.
Result<KernelVerdict> replay_kernel(const Suite& suite, KernelReference& reference, int32_t kernel,
                                    runtime::KernelRunner& runner,
                                    const ReplayOptions& options = {});
// Runs all calls in a sandbox. A hang is a verdict, too, and so is a crash of a process that has
// run no other kernel under test, or one that repeats in a fresh process. Kernels after it run in
// another session. May throw as Sandbox does.
Result<KernelVerdict> replay_kernel(const Suite& suite, KernelReference& reference, int32_t kernel,
                                    Sandbox& sandbox, const ReplayOptions& options = {});
// The same for one carved call (index into the suite's calls) alone.
Result<KernelVerdict> replay_call(const Suite& suite, KernelReference& reference, size_t call,
                                  Sandbox& sandbox);

}  // namespace tapml::topdown
