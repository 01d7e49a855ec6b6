// Orders the calls in dataflow blocks by the memory that they need.
#pragma once

#include "ir/module.h"
#include "passes/memory/sizes.h"

namespace tapml::passes {

// In each dataflow block of a function that is not a kernel, puts bindings in an order that needs
// less memory at a time. Tries two greedy orders: from the front, always the binding after which
// the least is held, and from the back, always the one before which the least is held; keeps the
// original order where neither holds less. Values are unchanged; so is the order of updates in
// place relative to anything that may read the same storage, and of bindings after a match_cast.
// Sizes are compared at `values` (by name) of symbolic variables, else at plausible ones; sharing
// of storages is not predicted.
//
// Expects kernel calls (fuse_tensor_ir) without planned storage, in A-normal form.
Module order_bindings(const Module& module);
Module order_bindings_with(const Module& module, const Bounds& values);

}  // namespace tapml::passes
