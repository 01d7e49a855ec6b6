// Dynamic-shape-aware fusion of kernels (Relax paper, section 4.2).
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Groups calls of kernels in dataflow blocks by their pattern kinds (attribute "pattern_kind" of
// the implementations, see annotate_patterns). A kernel joins the one that post-dominates it, where
// all that is read of it meets again, with every kernel on the ways between, if
// - all of them are injective, or one is a reduction: injective kernels stand in front of a sum
//   (none in front of a product), behind it elementwise ones, at its own indices;
// - nothing else reads what is between, and no call that updates an argument stands there;
// - the group has no more than `kFusionTensors` tensors;
// - it is estimated to take no longer as one kernel (passes/fusion_cost.h).
// Views between two kernels of a group become part of it, as index arithmetic.
// A group becomes a function with attribute "fused" whose body calls the kernels; symbolic
// variables that its tensors do not give are passed as an extra Shape argument.
Module fuse_ops(const Module& module);

inline constexpr int kFusionTensors = 6;

// The fusion policy names the rules by which a module's kernels are formed: platforms that share it
// have the same kernels. This one is that of this version of fuse_ops.
inline constexpr const char* kDefaultFusionPolicy = "default-2";
// ModuleFacts::fusion_policy, or the default where none is set yet.
std::string fusion_policy_of(const Module& module);

// Sets "pattern_kind" on the implementation of every kernel, from its loops alone.
Module annotate_patterns(const Module& module);

}  // namespace tapml::passes
