// Lowers operators to kernels (Relax paper, section 4.1; contract 2).
#pragma once

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::passes {

// Outlines every operator call of functions that are not kernels as a pair of spec and
// implementation, and calls it by call_tir, or call_tir_inplace for operators that update an
// argument. Equal specs are shared. Views (reshape) stay operators: they compute nothing. Tensor
// programs that call_tir names without a spec become kernels that are their own spec. Where
// deduction cannot decide whether two dimensions agree, a match_cast before the call checks it.
// UserError for a call whose argument shapes are unknown or can never match.
Module legalize(const Module& module);

// Adds the kernel for the operator call in `binding`, views included, and returns its call_tir. The
// operands must provably agree.
relax::Expr outline_operator(Module& module, const relax::Binding& binding);

// Whether an operator only reinterprets the same bytes.
bool is_view(const std::string& op);

}  // namespace tapml::passes
