// Copies of graph-level code with variables of their own.
#pragma once

#include "relax/visit.h"

namespace tapml::relax {

// A copy of `expr` in which every variable that it binds is a new one, lambdas' parameters
// included, with symbolic variables replaced by `symbols` (also those that its match_casts bind:
// the copy's are new). Free variables are replaced by `values`, or stay.
Expr refresh(const Expr& expr, const ExprMap& values, const VarMap& symbols);

}  // namespace tapml::relax
