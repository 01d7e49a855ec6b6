// Facts that follow from a tensor program's signature about its scalars and its loop extents.
#pragma once

#include "arith/analyzer.h"
#include "tir/prim_func.h"

namespace tapml::tir {

// Adds facts about the scalars of `func`: no dimension of a buffer parameter is negative. Scalars
// that are not dimensions may have any value.
void bind_scalars(const PrimFunc& func, arith::Analyzer& analyzer);

// The least value of each of `scalars` that follows from the dimensions of `params`; std::nullopt
// if it may have any value.
std::vector<std::optional<int64_t>> least_scalars(const std::vector<Param>& params,
                                                  const std::vector<Var>& scalars);

// Adds the facts of bind_scalars() about dimensions that are expressions, when scalars are already
// bound.
void bind_dimensions(const std::vector<Param>& params, arith::Analyzer& analyzer);

// Replaces extents of loops that may be negative (such loops have no iterations) by max(extent, 0),
// also in the iterators of their blocks and in allocated buffers, so that products and quotients of
// extents are correct. Returns `func` itself if there are none.
PrimFuncRef with_counted_loops(const PrimFuncRef& func);

}  // namespace tapml::tir
