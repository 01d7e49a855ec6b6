// Rebuilding graph-level code with other variables: the one walker behind substitution, renaming
// and specialization.
#pragma once

#include <functional>
#include <map>

#include "relax/expr.h"

namespace tapml::relax {

using ExprMap = std::map<const VarNode*, Expr>;

// Replaces variables by expressions; bindings' own variables are left alone.
Expr substitute(const Expr& expr, const ExprMap& values);

// Rewrites symbolic variables everywhere below, also in the annotations of bound variables (which
// become new variables then).
Expr substitute_symbols(const Expr& expr, const VarMap& values);
// Both at once; what comes from `values` is not rewritten.
Expr substitute_all(const Expr& expr, ExprMap values, const VarMap& symbols);

// A copy of `expr` in which every variable that it binds is a new one, lambdas' parameters
// included, with symbolic variables replaced by `symbols` (also those that its match_casts bind:
// the copy's are new). Free variables are replaced by `values`, or stay.
Expr refresh(const Expr& expr, const ExprMap& values, const VarMap& symbols);

// The function with f's result in place of every dimension and prim value, in annotations and in
// values. All its variables are new; its symbolic variables are what f leaves.
FunctionRef map_symbols(const Function& function, const SymbolMap& f);

}  // namespace tapml::relax
