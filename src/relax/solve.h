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

// A variable that an integer of a list gives its value.
struct SolvedSymbol {
  const tapml::ExprNode* symbol = nullptr;
  size_t integer = 0;  // its number in the list
};

// Adds to `known`, and returns in order, the variables that integers of known values give: those
// that stand alone, and then those that are the only unknown one of a linear expression (n + 1,
// 2*n).
std::vector<SolvedSymbol> solve_symbols(const std::vector<PrimExpr>& integers, SymbolIds& known);

// The same for the dimensions and prim values of annotations. The functions inside bind nothing.
std::vector<const tapml::ExprNode*> bind_symbols(const std::vector<Annotation>& annotations,
                                                 SymbolIds& known);

}  // namespace tapml::relax
