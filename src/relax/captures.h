// What a part of a function takes from around it.
#pragma once

#include <vector>

#include "relax/expr.h"

namespace tapml::relax {

// Symbolic variables that are mentioned anywhere in the expression or function, those that it binds
// included, in order of first occurrence.
void collect_symbols(const Expr& expr, std::vector<Var>& into);
void collect_symbols(const Function& function, std::vector<Var>& into);

// Variables that `function` uses and does not bind, in order of first use; not `self`.
std::vector<Variable> captured_variables(const Function& function, const VarNode* self = nullptr);

}  // namespace tapml::relax
