// Dynamic-shape-aware fusion of kernels (Relax paper, section 4.2).
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Groups calls of kernels in dataflow blocks by their pattern kinds (attribute "pattern_kind" of
// the implementations, see annotate_patterns). A kernel joins its post-dominator, where all of its
// readers meet again, together with every kernel on the paths between, if
// - all of them are injective, or one is a reduction: injective kernels before a sum (none before a
//   product), and after it elementwise ones, at its indices;
// - nothing else reads the intermediate tensors, and no call in between updates an argument;
// - the group has no more than `kFusionTensors` tensors;
// - the estimated time as one kernel is no longer (passes/fusion_cost.h).
// Views between two kernels of a group become part of it, as index arithmetic. A group becomes a
// function with attribute "fused" whose body calls the kernels; symbolic variables that its tensors
// do not give are passed as an extra Shape argument.
Module fuse_ops(const Module& module);

inline constexpr int kFusionTensors = 6;

// The fusion policy names the rules by which a module's kernels are formed: platforms with the same
// policy have the same kernels. This is the policy of this version of fuse_ops.
inline constexpr const char* kDefaultFusionPolicy = "default-2";
// ModuleFacts::fusion_policy, or the default where none is set yet.
std::string fusion_policy_of(const Module& module);

// Sets "pattern_kind" on the implementation of every kernel, derived only from its loops.
Module annotate_patterns(const Module& module);

}  // namespace tapml::passes
