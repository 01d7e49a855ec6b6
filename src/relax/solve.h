// Symbolic variables out of the values of expressions that hold them.
#pragma once

#include <optional>
#include <set>

#include "relax/annotation.h"

namespace tapml::relax {

// factor * var + offset; factor is not 0 and offset is free of the variable.
struct LinearIn {
  int64_t factor = 1;
  PrimExpr offset;
};

// `expr` as a linear expression of the i64 variable `var`; nothing where it is none.
std::optional<LinearIn> linear_in(const PrimExpr& expr, const Var& var);

// Symbolic variables by identity.
using SymbolIds = std::set<const tapml::ExprNode*>;

// Adds to `known`, and returns in order, what a value of `annotation` gives: variables that stand
// alone in a dimension or a prim value, and those that are the only unknown one of a linear
// dimension (n + 1, 2*n). The functions inside bind nothing.
std::vector<const tapml::ExprNode*> bind_symbols(const std::vector<Annotation>& annotations,
                                                 SymbolIds& known);

}  // namespace tapml::relax
