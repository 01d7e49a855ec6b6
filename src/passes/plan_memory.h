// Dynamic-shape-aware memory planning (Relax paper, section 4.3).
#pragma once

#include "ir/module.h"
#include "passes/memory/sizes.h"

namespace tapml::passes {

struct PlanMemoryOptions {
  Bounds bounds;         // by name, beside those of the module and its functions ("bound.n")
  bool reuse = true;     // false: every tensor has a storage of its own
  bool in_place = true;  // outputs may take over the storage of an input
};

// Makes storage explicit in the functions that are not kernels:
//   st = memory.alloc_storage(shape(bytes))
//   y  = memory.alloc_tensor(st, shape(dims...)) {dtype}
//   _  = call_tir_dps(@K, (inputs...), (outputs...)[, shape(symbols...)[, workspace storage]])
// Tensors share a storage when they are never needed together (analysis/liveness). Sizes are
// compared symbolically: a storage takes a tensor that is provably no larger, or grows to the
// provably larger one, or else to the greater of both. call_tir_inplace keeps its argument's
// storage, and so does a kernel that reads an input for the last time, element by element. Storages
// of tensors in branches are allocated before the branch.
//
// A bound counts where a dimension gives the variable its value; there it is checked at run time.
// Where all of a function's sizes have upper bounds, its storages have constant sizes and are
// static: allocated at load, shared by all functions of the module that cannot be in progress at
// one time. What a function returns is never static. Functions that call themselves, and those that
// are used as values, have no static storages.
//
// Expects A-normal form without nested functions. Idempotent.
Module plan_memory(const Module& module);
Module plan_memory_with(const Module& module, const PlanMemoryOptions& options);

}  // namespace tapml::passes
