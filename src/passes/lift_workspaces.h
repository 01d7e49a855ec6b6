// Makes scratch memory of implementations part of the caller's plan (Relax paper, section 4.3).
#pragma once

#include "ir/module.h"
#include "tir/prim_func.h"

namespace tapml::passes {

// Alignment of workspaces within a call's workspace storage: the strictest that a platform
// requires.
inline constexpr int64_t kWorkspaceAlignment = 256;

// Bytes of one storage for all workspaces of `func` (the global allocations at its top level), over
// its scalars; null where it has none.
PrimExpr workspace_bytes_of(const tir::PrimFunc& func);

// Adds the workspace size to calls of kernels that need one; planning then allocates it like a
// tensor that lives only during the call:
//   call_tir(@K, (tensors...), shape(symbols...), shape(bytes))
// The size comes from the kernel's requirements, or from its tensor program if it has none. Kernel
// signatures do not change.
Module lift_workspaces(const Module& module);

}  // namespace tapml::passes
