// Solves for symbolic variables, given the values of expressions that contain them.
#pragma once

#include <optional>
#include <set>

#include "relax/annotation.h"

namespace tapml::relax {

// factor * var + offset; factor is not 0 and offset does not contain the variable.
struct LinearIn {
  int64_t factor = 1;
  PrimExpr offset;
};

// `expr` as a linear expression of the i64 variable `var`; std::nullopt if it is not linear.
std::optional<LinearIn> linear_in(const PrimExpr& expr, const Var& var);

// Symbolic variables by identity.
using SymbolIds = std::set<const tapml::ExprNode*>;

// A variable whose value follows from an integer of a list.
struct SolvedSymbol {
  const tapml::ExprNode* symbol = nullptr;
  size_t integer = 0;  // its index in the list
};

// Adds to `known`, and returns in order, the variables that follow from integers with known values:
// first variables that alone are an integer, then those that are the only unknown in a linear
// expression (n + 1, 2*n).
std::vector<SolvedSymbol> solve_symbols(const std::vector<PrimExpr>& integers, SymbolIds& known);

// The same for the dimensions and prim values of annotations. Function annotations inside bind
// nothing.
std::vector<const tapml::ExprNode*> bind_symbols(const std::vector<Annotation>& annotations,
                                                 SymbolIds& known);

}  // namespace tapml::relax
