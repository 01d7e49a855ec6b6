// Folding of float constants, only where the result is exact.
#pragma once

#include "ir/expr.h"

namespace tapml::arith {

// `e`, or what it folds to: x*1, x/1, x-0, and +, -, * of constants and casts of integer constants
// whose result is exactly a value of the type.
PrimExpr fold_float(const PrimExpr& e);

// Whether the value is a finite value of `dtype`.
bool representable(double value, DType dtype);

}  // namespace tapml::arith
