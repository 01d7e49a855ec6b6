// A tensor program as the list of its stores, each with the iterators around it. Blocks and plain
// loops look the same here.
#pragma once

#include <optional>
#include <vector>

#include "tir/prim_func.h"

namespace tapml::analysis {

struct Computation {
  tir::Buffer out;
  std::vector<PrimExpr> indices;
  PrimExpr value;
  std::vector<Var> spatial;    // stand in the indices
  std::vector<Var> reduction;  // the other iterators around the store

  // Reads back the element that it stores, once for each step of `reduction`.
  bool reduces() const { return !reduction.empty(); }
  bool is_self_load(const PrimExpr& load) const;
};

// The program's stores in order; a reduction's initial store is left out. Nothing where one is
// conditional, stands at indices that are no distinct iterators (0 in a dimension of extent 1 may
// stand for one), repeats an earlier one, or iterates without reducing.
std::optional<std::vector<Computation>> find_computations(const tir::PrimFunc& func);

}  // namespace tapml::analysis
