// Decimal literals of floats, which every C-like language reads back exactly.
#pragma once

#include <string>

#include "tensor/dtype.h"

namespace tapml::codegen {

// The fewest digits that give `value`, rounded to `dtype`, back: "0.5", "1e-05", "-0.0". Compilers
// that read f32 by way of f64 get the same value. `value` is finite after rounding.
std::string decimal_literal(double value, DType dtype);

// The literal with `suffix`; in parentheses where it is negative.
std::string decimal_operand(double value, DType dtype, const std::string& suffix);

}  // namespace tapml::codegen
