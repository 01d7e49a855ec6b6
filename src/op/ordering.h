// Comparison, sorting and searching in tensor programs.
#pragma once

#include <functional>

#include "op/lowering.h"

namespace tapml::op {

// Whether element `a` comes before `b` in ascending order, with NaN last; false if they are equal.
PrimExpr comes_before(const PrimExpr& a, const PrimExpr& b);
// Whether neither comes before the other.
PrimExpr same_rank(const PrimExpr& a, const PrimExpr& b);

// Fills order[row..., 0 .. extent) with the indices 0 .. extent - 1 in a stable order by `before(a,
// b)`, over pairs of indices (i64). `spare` is scratch memory of the same shape.
tir::Stmt merge_sort(const tir::Buffer& order, const tir::Buffer& spare,
                     const std::vector<Var>& row, const PrimExpr& extent,
                     const std::function<PrimExpr(const PrimExpr&, const PrimExpr&)>& before);

// out[at] = the number of leading k in [0, extent) for which `passes(k)` holds, by bisection: after
// the first k that fails, all must fail.
tir::Stmt lower_bound(const tir::Buffer& out, const std::vector<PrimExpr>& at,
                      const PrimExpr& extent,
                      const std::function<PrimExpr(const PrimExpr&)>& passes);

}  // namespace tapml::op
