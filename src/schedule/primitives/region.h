// The boxes of elements that statements touch while some of the loops around them run.
#pragma once

#include <optional>
#include <vector>

#include "schedule/primitives/digits.h"

namespace tapml::schedule {

// Least and greatest value, both reached or beyond what is reached.
struct Bounds {
  PrimExpr low, high;
};

// Bounds of an integer expression over the variables of `inner`, in terms of all others. Nothing
// where they are not found (data, products of two inner variables).
std::optional<Bounds> bounds_over(const PrimExpr& expr, const Extents& inner,
                                  arith::Analyzer& analyzer);

struct Box {
  std::vector<PrimExpr> begins, extents;
};

// One load or store, its indices over the loops around the block (iterators replaced by bindings).
struct Access {
  tir::Buffer buffer;
  std::vector<PrimExpr> indices;
  bool store = false;
};

// Loads and stores of a leaf, in order; `inner` learns the loops inside the block's body.
std::vector<Access> accesses(const Site& leaf, Extents& inner);

// The elements that the access touches while the variables of `inner` run; the whole dimension
// where no better is known.
Box box_of(const Access& access, const Extents& inner, arith::Analyzer& analyzer);
// A box around both.
Box hull(const Box& a, const Box& b, arith::Analyzer& analyzer);
// Whether `a`, cut to the buffer's shape, provably lies in `b`.
bool contains(const Box& b, const Box& a, const tir::Buffer& buffer, arith::Analyzer& analyzer);

}  // namespace tapml::schedule
