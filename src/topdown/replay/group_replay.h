// Groups of kernels that are judged together (SuiteGroup).
#pragma once

#include "topdown/replay/replay.h"

namespace tapml::topdown {

// Runs a group (index into the suite's groups) in the sandbox, each call with what the ones before
// it computed there. The reference evaluates it in the same way, its bounds running from call to
// call; what is given at borders, and all that was carved, is exact. The verdict's source is the
// group's own. Crashes and hangs are verdicts as in replay_kernel(). A tolerance of the kernel that
// writes an output widens that output's bound. The whole group is run again and again, as often as
// `options` say of a kernel's launches. UserError for a kernel without a specification.
Result<KernelVerdict> replay_group(const Suite& suite, KernelReference& reference, size_t group,
                                   Sandbox& sandbox, const ReplayOptions& options = {});

}  // namespace tapml::topdown
