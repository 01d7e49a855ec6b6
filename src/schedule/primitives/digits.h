// Index expressions as mixed-radix numbers: which loops they determine and which values they cover.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "arith/analyzer.h"
#include "ir/expr.h"
#include "schedule/primitives/site.h"

namespace tapml::schedule {

// Extent of each variable.
using Extents = VarMap;
Extents extents_of(const std::vector<tir::Stmt>& loops);

// scale * ((var // low) % (high / low)): the part of a variable between two radixes. `high` is null
// if the part extends to the top.
struct Digit {
  Var var;
  PrimExpr low, high;
  PrimExpr extent;  // upper bound on the number of values
  PrimExpr scale;
};

// base + the sum of digits; the base does not use the variables of `extents`.
struct Number {
  PrimExpr base;
  std::vector<Digit> digits;  // ascending: each scale is at least the range of the digits below
  bool exact = false;         // every value from the base to the maximum occurs
};

// nullopt if `expr` has no such form or if digits overlap (i*4 + j with j < 6).
std::optional<Number> as_number(const PrimExpr& expr, const Extents& extents,
                                arith::Analyzer& analyzer);
// One more than the maximum value above the base.
PrimExpr span(const Number& number, arith::Analyzer& analyzer);

// The variables of `extents` that the values of `exprs` determine, including those of extent 1.
std::set<const ExprNode*> determined(const std::vector<PrimExpr>& exprs, const Extents& extents,
                                     arith::Analyzer& analyzer);

// Whether `exprs` take every combination of values above their bases exactly once as their
// variables run: no part of a variable is used twice or omitted.
bool fill_box(const std::vector<PrimExpr>& exprs, const Extents& extents,
              arith::Analyzer& analyzer);

// The reason why the loops around the block may not visit every value of its iterators exactly
// once; empty if they provably do.
std::string why_not_bijective(const tir::PrimFunc& func, const Site& block);

}  // namespace tapml::schedule
