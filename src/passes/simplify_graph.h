// Algebra and canonical form at graph level.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Removes and merges operators where the result is the same, bit for bit (NaN payloads aside):
// - another name, a field of a known tuple, a match_cast that surely holds;
// - flatten, squeeze, expand_dims become reshape, which is a view; reshape of reshape is one;
// - permute of permute is one, a permute of operands of matmul joins its transpose flags;
// - operators that change nothing (x * 1, x - 0, a cast to the same dtype, a reshape, slice,
// permute,
//   concat, tile, repeat, broadcast or pad to the same) go, as do pairs that cancel out (negative,
//   logical_not, bitwise_not) and second applications of what is idempotent (relu, abs, floor,
//   ...);
// - casts through a wider dtype of the same kind and back go.
// What a pattern cut out and would return an argument of its own stays as it is: it is a kernel.
// Kernels are left alone, and impure functions: what they assign to must keep its own storage.
Module simplify_graph(const Module& module);

}  // namespace tapml::passes
