// The order of calls in dataflow blocks, by the memory that they need.
#pragma once

#include "ir/module.h"
#include "passes/memory/sizes.h"

namespace tapml::passes {

// In each dataflow block of a function that is no kernel, bindings come in an order in which less
// memory is needed at a time: chosen step by step from the front, always the binding after which
// the least is held, or from the back, always the one before which the least is; or as they were,
// where neither holds less. Values, the order of updates in place with everything that may look at
// the same storage, and what stands behind a match_cast stay as they are. Sizes are compared at
// `values` (by name) of symbolic variables, else at plausible ones; how storages are shared is not
// foreseen.
//
// Expects kernel calls (fuse_tensor_ir) without planned storage, in A-normal form.
Module order_bindings(const Module& module);
Module order_bindings_with(const Module& module, const Bounds& values);

}  // namespace tapml::passes
