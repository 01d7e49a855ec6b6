// Runs groups of kernels that are tested together (SuiteGroup).
#pragma once

#include "topdown/replay/replay.h"

namespace tapml::topdown {

// Runs a group (index into the suite's groups) in the sandbox; each call reads what the calls
// before it computed there. The reference evaluates it in the same way, with bounds that accumulate
// from call to call; group inputs and carved tensors are exact. The verdict's source is the group's
// own. Crashes and hangs are verdicts as in replay_kernel(). A tolerance of the kernel that writes
// an output widens that output's bound. Repeats the whole group as often as `options` require for
// the launches of a kernel. UserError for a kernel without a specification.
Result<KernelVerdict> replay_group(const Suite& suite, KernelReference& reference, size_t group,
                                   Sandbox& sandbox, const ReplayOptions& options = {});

}  // namespace tapml::topdown
