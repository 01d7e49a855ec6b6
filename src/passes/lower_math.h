// Own math (architecture contract 13).
#pragma once

#include "tir/prim_func.h"

namespace tapml::passes {

// Replaces exp, log, sin, cos and tanh of f32 (f16 and bf16 through f32) by range reduction and
// polynomials, within 2 ULP; sin and cos up to |x| = 1e5. Calls without a polynomial yet (pow, erf,
// any f64) are an InternalError that names the intrinsic.
tir::PrimFuncRef lower_math(const tir::PrimFunc& func);

// The same for one expression.
PrimExpr lower_math(const PrimExpr& expr);

}  // namespace tapml::passes
