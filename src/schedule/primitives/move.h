// What compute_at and reverse_compute_at share: a block put into a loop with loops of its own.
#pragma once

#include "schedule/primitives/dependence.h"
#include "schedule/primitives/primitives.h"

namespace tapml::schedule::primitives {

// The block alone stands in its nest.
bool is_alone(const tir::PrimFunc& func, const Site& block);

// Where one iterator of the moved block starts and how many values it takes.
struct NewRange {
  PrimExpr begin, extent;
};
// The block in fresh loops, one for each iterator in order: `ranges` by iterator's variable, the
// iterator's whole extent where absent. What lies outside the extents is cut off by a predicate.
tir::Stmt in_new_loops(const tir::BlockNode& block,
                       const std::map<const ExprNode*, NewRange>& ranges, arith::Analyzer analyzer);

}  // namespace tapml::schedule::primitives
