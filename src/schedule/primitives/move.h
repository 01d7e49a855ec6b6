// Shared by compute_at and reverse_compute_at: moves a block into a loop, with new loops of its
// own.
#pragma once

#include "schedule/primitives/dependence.h"
#include "schedule/primitives/primitives.h"

namespace tapml::schedule::primitives {

// Whether the block is the only one in its nest.
bool is_alone(const tir::PrimFunc& func, const Site& block);

// Start and number of values of one iterator of the moved block.
struct NewRange {
  PrimExpr begin, extent;
};
// The block in fresh loops, one for each iterator in order. `ranges` is keyed by the iterator's
// variable; iterators that are absent run over their whole extent. A predicate excludes points
// outside the extents.
tir::Stmt in_new_loops(const tir::BlockNode& block,
                       const std::map<const ExprNode*, NewRange>& ranges, arith::Analyzer analyzer);

}  // namespace tapml::schedule::primitives
