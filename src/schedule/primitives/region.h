// Boxes of elements that statements touch while some of the loops around them run.
#pragma once

#include <optional>
#include <vector>

#include "schedule/primitives/digits.h"

namespace tapml::schedule {

// Minimum and maximum; conservative, so either may lie beyond the reached values.
struct Bounds {
  PrimExpr low, high;
};

// Bounds of an integer expression over the variables of `inner`, in terms of all others; nullopt if
// unknown (data, products of two inner variables).
std::optional<Bounds> bounds_over(const PrimExpr& expr, const Extents& inner,
                                  arith::Analyzer& analyzer);

struct Box {
  std::vector<PrimExpr> begins, extents;
};

// One load or store, with indices over the loops around the block (bindings substituted).
struct Access {
  tir::Buffer buffer;
  std::vector<PrimExpr> indices;
  bool store = false;
};

// Loads and stores of a leaf, in order; the loops inside the block's body are added to `inner`.
std::vector<Access> accesses(const Site& leaf, Extents& inner);

// The elements that the access touches while the variables of `inner` run; the whole dimension if
// no tighter bound is known.
Box box_of(const Access& access, const Extents& inner, arith::Analyzer& analyzer);
// The smallest box around both.
Box hull(const Box& a, const Box& b, arith::Analyzer& analyzer);
// Whether `b` provably contains `a`, clipped to the buffer's shape.
bool contains(const Box& b, const Box& a, const tir::Buffer& buffer, arith::Analyzer& analyzer);

}  // namespace tapml::schedule
