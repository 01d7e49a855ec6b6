// Index expressions as numbers in mixed radix: which loops they determine, and what they cover.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "arith/analyzer.h"
#include "ir/expr.h"
#include "schedule/primitives/site.h"

namespace tapml::schedule {

// Extents by variable.
using Extents = VarMap;
Extents extents_of(const std::vector<tir::Stmt>& loops);

// scale * ((var // low) % (high / low)): the part of a variable's value between two radixes. `high`
// is null where the part reaches to the top.
struct Digit {
  Var var;
  PrimExpr low, high;
  PrimExpr extent;  // number of values, at most
  PrimExpr scale;
};

// base + the sum of digits; the base uses none of the variables of `extents`.
struct Number {
  PrimExpr base;
  std::vector<Digit> digits;  // ascending: each scale is at least the range of those before
  bool exact = false;         // every value from base to the highest one occurs
};

// Nothing where `expr` is no such sum, or where digits overlap (i*4 + j with j < 6).
std::optional<Number> as_number(const PrimExpr& expr, const Extents& extents,
                                arith::Analyzer& analyzer);
// One more than the highest value over the base.
PrimExpr span(const Number& number, arith::Analyzer& analyzer);

// The variables of `extents` whose values follow from the values of `exprs`. Those of extent 1 do.
std::set<const ExprNode*> determined(const std::vector<PrimExpr>& exprs, const Extents& extents,
                                     arith::Analyzer& analyzer);

// Whether `exprs` take every combination of values from their bases on, each once, as the variables
// that they use run: no part of a variable is used twice or left out.
bool fill_box(const std::vector<PrimExpr>& exprs, const Extents& extents,
              arith::Analyzer& analyzer);

// Why the loops around the block do not visit every value of its iterators exactly once; empty
// where they provably do.
std::string why_not_bijective(const tir::PrimFunc& func, const Site& block);

}  // namespace tapml::schedule
