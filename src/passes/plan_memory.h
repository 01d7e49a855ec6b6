// Dynamic-shape-aware memory planning (Relax paper, section 4.3).
#pragma once

#include <optional>

#include "ir/module.h"
#include "passes/memory/sizes.h"

namespace tapml::passes {

struct PlanMemoryOptions {
  Bounds bounds;         // by name, beside those of the module and its functions ("bound.n")
  bool reuse = true;     // false: every tensor has its own storage
  bool in_place = true;  // outputs may take over the storage of an input
  bool offsets = true;   // tensors needed at the same time may be adjacent in one storage
  std::optional<Bounds> order_for;  // set: calls are ordered by order_bindings for these values
  int64_t most_storage_bytes = 0;   // limit for a storage that several tensors share; 0: none
};

// Makes storage explicit in functions that are not kernels:
//  st = memory.alloc_storage(shape(bytes))
//  y  = memory.alloc_tensor(st, shape(dims...)[, prim(offset)]) {dtype}
//  _  = call_tir_dps(@K, (inputs...), (outputs...)[, shape(symbols...)[, workspace]])
// Tensors share bytes when they are never needed at the same time (analysis/liveness). They may
// also share a storage at provably disjoint parts of it; parts begin at multiples of
// kTensorAlignment. Sizes and offsets are compared symbolically: a storage takes a tensor that
// provably fits next to those needed with it, or grows to the provably larger size, or else to the
// maximum of both. call_tir_inplace keeps its argument's storage, and so does a kernel that reads
// an input for the last time, element by element. Storages of tensors in branches are allocated
// before the branch. A workspace is a storage, or a tensor of bytes if it is not at the start of
// one.
//
// A bound is checked at run time where a call gives the variable its value, whether or not the plan
// needs it. If all of a function's sizes have upper bounds, its storages have constant sizes and
// are static: allocated at load, and shared by all functions of the module that cannot be in
// progress at the same time. A function's results are never static. Recursive functions have no
// static storages.
//
// Expects A-normal form without nested functions. Idempotent.
Module plan_memory(const Module& module);
Module plan_memory_with(const Module& module, const PlanMemoryOptions& options);

}  // namespace tapml::passes
