// What must hold between iterations and between blocks for a transformation to keep the meaning.
#pragma once

#include <optional>
#include <string>

#include "schedule/primitives/region.h"

namespace tapml::schedule {

// Why two iterations of the loop may touch the same memory, one of them to write; empty where they
// provably do not. Memory allocated inside the loop is each iteration's own.
std::string why_dependent(const tir::PrimFunc& func, const Site& loop);

// A block that updates out[indices] = op(out[indices], term) with an operation whose order is free.
struct Reducer {
  tir::Buffer out;
  std::vector<PrimExpr> indices;
  ExprKind op = ExprKind::kAdd;
  PrimExpr term;      // does not load `out`
  PrimExpr identity;  // op(identity, x) is x
};
// Sums, products, minima, maxima, conjunctions and disjunctions; nothing for other bodies.
std::optional<Reducer> find_reducer(const tir::BlockNode& block);

// Blocks of the leaves (other than `except`) that store to / load a buffer that `block` loads /
// stores. "block copy writes x, which it reads"; empty where there is none.
std::string why_in_conflict(const tir::Stmt& moved, const std::vector<Site>& passed,
                            const tir::Stmt& except = nullptr);

// A block with one store and no reduction, out[v0, v1, ...] = value: each index is one of its
// iterators, none twice, or 0 where the dimension is 1.
struct Pointwise {
  tir::Buffer out;
  std::vector<PrimExpr> indices;
  PrimExpr value;
};
std::optional<Pointwise> find_pointwise(const tir::BlockNode& block);
// Whether each index is an iterator of the block, none twice, or a constant.
bool are_plain_indices(const tir::BlockNode& block, const std::vector<PrimExpr>& indices);

// The block's predicate cuts off only what lies outside its iterators' extents.
bool cuts_only_the_outside(const tir::PrimFunc& func, const Site& block);

// Leaves that load / store the buffer.
std::vector<Site> readers_of(const tir::PrimFunc& func, const tir::BufferNode* buffer);
std::vector<Site> writers_of(const tir::PrimFunc& func, const tir::BufferNode* buffer);
bool is_parameter(const tir::PrimFunc& func, const tir::BufferNode* buffer);

// The only buffer that the block stores to; null where there are several.
tir::Buffer written_by(const tir::BlockNode& block);

}  // namespace tapml::schedule
