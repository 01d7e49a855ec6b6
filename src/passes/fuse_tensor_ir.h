// Cross-level merging (Relax paper, section 4.2, figure 9).
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Turns every function that fuse_ops made into one kernel: its spec is the composition of the
// members' operators, its implementation their loops in sequence, with the intermediate tensors as
// allocations (schedules inline them). Calls become call_tir. Equal kernels are shared.
Module fuse_tensor_ir(const Module& module);

}  // namespace tapml::passes
