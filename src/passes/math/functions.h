// Portable math in f32: each function takes one variable that is already bound (pow: two) and is
// within 2 ULP over all inputs; docs/semantics.md lists the measurements. Branch-free, without
// tables and without f64, so that it vectorizes and runs on every platform. Private to passes/.
//
// The coefficients come from scripts/fit_math.py.
#pragma once

#include "ir/expr.h"

namespace tapml::passes::math {

PrimExpr exp(const PrimExpr& x);
PrimExpr exp2(const PrimExpr& x);
PrimExpr expm1(const PrimExpr& x);
PrimExpr sinh(const PrimExpr& x);
PrimExpr cosh(const PrimExpr& x);
PrimExpr tanh(const PrimExpr& x);
PrimExpr erf(const PrimExpr& x);

PrimExpr log(const PrimExpr& x);
PrimExpr log2(const PrimExpr& x);
PrimExpr log10(const PrimExpr& x);
PrimExpr asinh(const PrimExpr& x);
PrimExpr acosh(const PrimExpr& x);
PrimExpr atanh(const PrimExpr& x);

PrimExpr sin(const PrimExpr& x);
PrimExpr cos(const PrimExpr& x);
PrimExpr tan(const PrimExpr& x);
PrimExpr asin(const PrimExpr& x);
PrimExpr acos(const PrimExpr& x);
PrimExpr atan(const PrimExpr& x);

PrimExpr pow(const PrimExpr& x, const PrimExpr& y);

}  // namespace tapml::passes::math
