// A tensor program as the list of its stores, each with the iterators around it. Blocks and plain
// loops are treated alike.
#pragma once

#include <optional>
#include <vector>

#include "tir/prim_func.h"

namespace tapml::analysis {

struct Computation {
  tir::Buffer out;
  std::vector<PrimExpr> indices;
  PrimExpr value;
  std::vector<Var> spatial;    // iterators in the indices
  std::vector<Var> reduction;  // the other iterators around the store

  // Whether it reads back the element that it stores, once for each step of `reduction`.
  bool reduces() const { return !reduction.empty(); }
  bool is_self_load(const PrimExpr& load) const;
};

// The program's stores in order, without a reduction's initial store. std::nullopt if a store is
// conditional, has indices that are not distinct iterators (0 is allowed in a dimension of extent
// 1), repeats an earlier one, or iterates without reducing.
std::optional<std::vector<Computation>> find_computations(const tir::PrimFunc& func);

}  // namespace tapml::analysis
