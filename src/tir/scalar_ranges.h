// What a tensor program's signature says of its scalars, and of the extents of its loops.
#pragma once

#include "arith/analyzer.h"
#include "tir/prim_func.h"

namespace tapml::tir {

// Facts about the scalars of `func`: no dimension of a buffer among its parameters is negative.
// Scalars that are no dimensions may be any number.
void bind_scalars(const PrimFunc& func, arith::Analyzer& analyzer);

// The least value of each of `scalars` by the dimensions of `params`, nothing where it may be any
// number.
std::vector<std::optional<int64_t>> least_scalars(const std::vector<Param>& params,
                                                  const std::vector<Var>& scalars);

// What bind_scalars() adds for dimensions that are expressions, where scalars are bound already.
void bind_dimensions(const std::vector<Param>& params, arith::Analyzer& analyzer);

// Loops that may have a negative extent, which have no iterations, get max(extent, 0) instead, and
// so do the iterators of their blocks and the buffers that are allocated: products and quotients of
// extents are then what they seem. `func` itself where there is none.
PrimFuncRef with_counted_loops(const PrimFuncRef& func);

}  // namespace tapml::tir
