// Dynamic-shape-aware memory planning (Relax paper, section 4.3).
#pragma once

#include <optional>

#include "ir/module.h"
#include "passes/memory/sizes.h"

namespace tapml::passes {

struct PlanMemoryOptions {
  Bounds bounds;         // by name, beside those of the module and its functions ("bound.n")
  bool reuse = true;     // false: every tensor has a storage of its own
  bool in_place = true;  // outputs may take over the storage of an input
  bool offsets =
      true;  // tensors that are needed at one time may lie beside each other in a storage
  std::optional<Bounds> order_for;  // set: calls come as order_bindings puts them for these values
  int64_t most_storage_bytes = 0;   // of a storage that several tensors share; 0: any
};

// Makes storage explicit in the functions that are not kernels:
//   st = memory.alloc_storage(shape(bytes))
//   y  = memory.alloc_tensor(st, shape(dims...)[, prim(offset)]) {dtype}
//   _  = call_tir_dps(@K, (inputs...), (outputs...)[, shape(symbols...)[, workspace]])
// Tensors share bytes when they are never needed together (analysis/liveness), and a storage when
// they are or when their parts of it are proved apart; parts begin at multiples of
// kTensorAlignment. Sizes and offsets are compared symbolically: a storage takes a tensor that
// provably fits beside what is needed with it, or grows to the provably larger size, or else to the
// greater of both. call_tir_inplace keeps its argument's storage, and so does a kernel that reads
// an input for the last time, element by element. Storages of tensors in branches are allocated
// before the branch. A workspace is a storage, or a tensor of bytes where it is not at its begin.
//
// A bound counts where a call gives the variable its value; there it is checked at run time,
// whether or not the plan needs it. Where all of a function's sizes have upper bounds, its storages
// have constant sizes and are static: allocated at load, shared by all functions of the module that
// cannot be in progress at one time. What a function returns is never static. Functions that call
// themselves have no static storages.
//
// Expects A-normal form without nested functions. Idempotent.
Module plan_memory(const Module& module);
Module plan_memory_with(const Module& module, const PlanMemoryOptions& options);

}  // namespace tapml::passes
