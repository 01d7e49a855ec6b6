// References of operators on quantized weights.
#pragma once

#include "op/reference/rules.h"

namespace tapml::op {

// The level that represents 0 where groups have no minimum.
inline int64_t zero_level(int bits) { return int64_t{1} << (bits - 1); }

// Levels of quantized activations are within -127 .. 127; groups without an element of at least
// 2^-100 are zeros, so that no scale is subnormal.
inline constexpr double kLargestLevel = 127;
inline constexpr double kLeastPeak = 0x1p-100;
// Levels this close to a tie are rounded to the other side where a reference emulates what correct
// implementations may differ in (ProductRounding::as_specified).
inline constexpr double kNearTie = 0x1p-8;

namespace reference {

// Of dequantize and, with minimums, of dequantize_affine.
void dequantize(const AttrMap& attrs, Args args, Outputs outputs);
void quantize(const AttrMap& attrs, Args args, Outputs outputs);
void dequantize_float(const AttrMap& attrs, Args args, Outputs outputs);
void dequantize_table(const AttrMap& attrs, Args args, Outputs outputs);

}  // namespace reference

}  // namespace tapml::op
