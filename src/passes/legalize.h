// Operators to kernels (Relax paper, section 4.1; contract 2).
#pragma once

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::passes {

// Outlines every operator call of the functions that are not kernels as a pair of spec and
// implementation, and calls it by call_tir, or call_tir_inplace for operators that update an
// argument. Equal specs are shared. Views (reshape) stay operators: they compute nothing.
// Tensor programs that call_tir names without a spec become kernels that are their own spec. Where
// deduction cannot decide that two dimensions agree, a match_cast before the call checks it.
// UserError for a call whose argument shapes are not known or can never fit each other.
Module legalize(const Module& module);

// Adds the kernel that does what the call in `binding`, of an operator whose operands provably
// agree, does, views included, and returns the call_tir of it.
relax::Expr outline_operator(Module& module, const relax::Binding& binding);

// Operators that only look at the same bytes another way.
bool is_view(const std::string& op);

}  // namespace tapml::passes
