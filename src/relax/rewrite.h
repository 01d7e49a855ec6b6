// Rebuilds graph-level code with other variables: the common rewriter for substitution, renaming
// and specialization.
#pragma once

#include <functional>
#include <map>

#include "relax/expr.h"

namespace tapml::relax {

using ExprMap = std::map<const VarNode*, Expr>;

// Replaces variables by expressions; variables that bindings bind stay.
Expr substitute(const Expr& expr, const ExprMap& values);

// Replaces symbolic variables everywhere, also in the annotations of bound variables (which then
// become new variables).
Expr substitute_symbols(const Expr& expr, const VarMap& values);
// Both at once; expressions from `values` are not rewritten.
Expr substitute_all(const Expr& expr, ExprMap values, const VarMap& symbols);

// A copy of `expr` in which every bound variable is new, including lambdas' parameters and symbolic
// variables that match_casts bind. `symbols` replaces symbolic variables; `values` replaces free
// variables, and others stay.
Expr refresh(const Expr& expr, const ExprMap& values, const VarMap& symbols);

// Replaces every dimension and prim value by f's result, in annotations and in values. All
// variables of the new function are new; its symbolic variables are those in f's results.
FunctionRef map_symbols(const Function& function, const SymbolMap& f);

}  // namespace tapml::relax
