// Algebraic simplification and canonical form at graph level.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Removes and merges operators where the result is the same, bit for bit (NaN payloads aside):
// - aliases, fields of a known tuple, match_casts that always hold;
// - flatten, squeeze, expand_dims become reshape, which is a view; reshape of reshape becomes one;
// - permute of permute becomes one, a permute of operands of matmul joins its transpose flags;
// - operators that change nothing (x * 1, x - 0, a cast to the same dtype, a reshape, slice,
//   permute, concat, tile, repeat, broadcast or pad to the same shape) are removed, as are pairs
//   that cancel out (negative, logical_not, bitwise_not) and repeated idempotent operators (relu,
//   abs, floor, ...);
// - casts through a wider dtype of the same kind and back are removed.
// A function cut out by a pattern is not changed where it would return one of its arguments: it is
// a kernel. Kernels are left alone, and so are impure functions: what they assign to must keep its
// own storage.
Module simplify_graph(const Module& module);

}  // namespace tapml::passes
