// The order of calls in dataflow blocks, by the memory that they need.
#pragma once

#include "ir/module.h"
#include "passes/memory/sizes.h"

namespace tapml::passes {

// In each dataflow block of a function that is no kernel, bindings come in an order in which less
// memory is needed at a time: of those whose operands are there, always the one after which the
// least is held; the first in the block's order among equals. Values, and the order of updates in
// place with everything that may look at the same storage, stay as they are. Sizes are compared at
// `values` (by name) of symbolic variables, else at plausible ones. A choice by the next step alone
// can be worse than what was there: plan both and compare.
//
// Expects kernel calls (fuse_tensor_ir) without planned storage, in A-normal form.
Module order_bindings(const Module& module);
Module order_bindings_with(const Module& module, const Bounds& values);

}  // namespace tapml::passes
