// Dependence checks between iterations and between blocks: when a transformation is safe.
#pragma once

#include <optional>
#include <string>

#include "schedule/primitives/region.h"

namespace tapml::schedule {

// The reason why two iterations of the loop may touch the same memory, with at least one write;
// empty if they provably do not. Memory allocated inside the loop is private to each iteration.
std::string why_dependent(const tir::PrimFunc& func, const Site& loop);

// A block that updates out[indices] = op(out[indices], term) with an op that may be reordered.
struct Reducer {
  tir::Buffer out;
  std::vector<PrimExpr> indices;
  ExprKind op = ExprKind::kAdd;
  PrimExpr term;      // does not load `out`
  PrimExpr identity;  // op(identity, x) is x
};
// Matches sums, products, minima, maxima, conjunctions and disjunctions; nullopt for other bodies.
std::optional<Reducer> find_reducer(const tir::BlockNode& block);

// The reason why `passed` conflicts with `moved`, such as "block copy writes x, which it reads";
// empty if there is no conflict.
std::string why_in_conflict(const tir::Stmt& moved, const Site& passed);

// A block with one store and no reduction, out[v0, v1, ...] = value: each index is a distinct
// iterator of the block, or 0 where the dimension is 1.
struct Pointwise {
  tir::Buffer out;
  std::vector<PrimExpr> indices;
  PrimExpr value;
};
std::optional<Pointwise> find_pointwise(const tir::BlockNode& block);
// Whether each index is a distinct iterator of the block or a constant.
bool are_plain_indices(const tir::BlockNode& block, const std::vector<PrimExpr>& indices);

// Whether the block's predicate excludes only points outside its iterators' extents.
bool cuts_only_the_outside(const tir::PrimFunc& func, const Site& block);

// The leaves that load / store the buffer.
std::vector<Site> readers_of(const tir::PrimFunc& func, const tir::BufferNode* buffer);
std::vector<Site> writers_of(const tir::PrimFunc& func, const tir::BufferNode* buffer);

// The only buffer that the block stores to; null if there are several.
tir::Buffer written_by(const tir::BlockNode& block);

}  // namespace tapml::schedule
