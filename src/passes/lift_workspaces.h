// Scratch memory of implementations becomes the caller's (Relax paper, section 4.3).
#pragma once

#include "ir/module.h"
#include "tir/prim_func.h"

namespace tapml::passes {

// Every start of a workspace inside of a call's workspace storage is a multiple of this: the
// strictest alignment that a platform asks for.
inline constexpr int64_t kWorkspaceAlignment = 256;

// Bytes of one storage for all workspaces of `func`: the global allocations at its top. Over its
// scalars; null where it has none.
PrimExpr workspace_bytes_of(const tir::PrimFunc& func);

// Calls of kernels that have workspaces name the bytes that they need, which planning then
// allocates like a tensor that lives for the call alone:
//   call_tir(@K, (tensors...), shape(symbols...), shape(bytes))
// Their requirements say how many; of kernels without requirements the tensor programs. The
// kernels' own signatures stay as they are.
Module lift_workspaces(const Module& module);

}  // namespace tapml::passes
