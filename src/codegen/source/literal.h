// Decimal literals of floats that every C-like language parses back exactly.
#pragma once

#include <string>

#include "tensor/dtype.h"

namespace tapml::codegen {

// The fewest digits that parse back to `value` rounded to `dtype`: "0.5", "1e-05", "-0.0".
// Compilers that parse f32 through f64 get the same value. `value` is finite after rounding.
std::string decimal_literal(double value, DType dtype);

// The literal with `suffix`, in parentheses if negative.
std::string decimal_operand(double value, DType dtype, const std::string& suffix);

}  // namespace tapml::codegen
