// References of op/unary_math.cpp.
#pragma once

#include "op/reference/elementwise.h"

namespace tapml::op::reference {

Rule exp, expm1, log, log2, log10, sqrt, rsqrt, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh,
    asinh, acosh, atanh, erf;

}  // namespace tapml::op::reference
