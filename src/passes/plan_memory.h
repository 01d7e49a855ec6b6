// Dynamic-shape-aware memory planning (Relax paper, section 4.3).
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Makes storage explicit in the functions that are not kernels:
//   st = memory.alloc_storage(shape(bytes))
//   y  = memory.alloc_tensor(st, shape(dims...)) {dtype}
//   _  = call_tir_dps(@K, (inputs...), (outputs...), shape(symbols...))
// A storage is taken again once no variable that may look at it is used any more and its size is
// provably equal to (or, where both are constant, at least) what is needed. call_tir_inplace keeps
// its argument's storage. What a function returns is never taken again.
Module plan_memory(const Module& module);

// Bytes of a tensor, padded to 16.
PrimExpr storage_bytes(const Dims& shape, DType dtype);

}  // namespace tapml::passes
