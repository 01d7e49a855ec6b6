// Quantizes a group of adjacent elements to four-bit levels with one scale that minimizes the
// error.
#pragma once

#include <cstddef>
#include <span>

#include "models/quantization.h"

namespace tapml::frontend {

inline constexpr int kLowestLevel = -8, kHighestLevel = 7;
inline constexpr int kQuantizedZero = 8;  // added to a level to make a nibble

// Quantizes models::kQuantizationGroup finite elements: writes the nibbles, two a byte with the
// first in the low half, and returns the scale, which may be negative, rounded to `dtype` (f32 or
// f16).
//
// The error is the sum of squares of level * scale - element. The plain scale maps the element of
// the largest magnitude to level -8. Twenty scales around it are tried: each gives levels, which
// have a best scale of their own (least squares). The best of these is used if, once rounded, its
// error is below that of the plain scale. The scale is infinite if the dtype can represent neither.
float quantize_group(std::span<const float> group, DType dtype, std::byte* packed);

}  // namespace tapml::frontend
