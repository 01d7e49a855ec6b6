// References of operators on quantized weights.
#pragma once

#include "op/reference/rules.h"

namespace tapml::op {

// The nibble that represents 0.
inline constexpr int64_t kQuantizedZero = 8;

namespace reference {

void dequantize(const AttrMap& attrs, Args args, Outputs outputs);

}  // namespace reference

}  // namespace tapml::op
