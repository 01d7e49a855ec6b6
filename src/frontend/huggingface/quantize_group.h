// A group of neighbours as four-bit levels with one scale, chosen by the error that they leave.
#pragma once

#include <cstddef>
#include <span>

#include "models/quantization.h"

namespace tapml::frontend {

inline constexpr int kLowestLevel = -8, kHighestLevel = 7;
inline constexpr int kQuantizedZero = 8;  // what is added to a level to make a nibble

// Quantizes models::kQuantizationGroup finite elements: writes the nibbles, two a byte, the first
// in its low half, and returns the scale, which may be negative, rounded to `dtype` (f32 or f16).
//
// The error is the sum of squares of level * scale - element. The plain scale puts the element of
// the largest magnitude on level -8. Twenty scales around it are tried: the levels that each gives
// have a best scale of their own (least squares), and the best of these is taken where it, rounded,
// leaves less than the plain scale. The scale is infinite where the dtype holds neither.
float quantize_group(std::span<const float> group, DType dtype, std::byte* packed);

}  // namespace tapml::frontend
