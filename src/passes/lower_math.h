// Portable math (architecture contract 13).
#pragma once

#include "tir/prim_func.h"

namespace tapml::passes {

// Replaces the functions listed as portable math in ir/intrinsics.h, in f32 (f16 and bf16 through
// f32), by range reduction and polynomials within 2 ULP (passes/math/). Calls in f64 stay.
tir::PrimFuncRef lower_math(const tir::PrimFunc& func);

// The same for one expression.
PrimExpr lower_math(const PrimExpr& expr);

}  // namespace tapml::passes
