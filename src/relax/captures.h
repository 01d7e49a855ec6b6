// What a part of a function uses from its surroundings.
#pragma once

#include <vector>

#include "relax/expr.h"

namespace tapml::relax {

// Symbolic variables that occur anywhere in the expression or function, including those that it
// binds, in order of first occurrence.
void collect_symbols(const Expr& expr, std::vector<Var>& into);
void collect_symbols(const Function& function, std::vector<Var>& into);

// Variables that `function` uses but does not bind, in order of first use, without `self`.
std::vector<Variable> captured_variables(const Function& function, const VarNode* self = nullptr);

}  // namespace tapml::relax
