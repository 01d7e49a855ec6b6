// The scalar functions that tensor programs may call, in one table.
#pragma once

#include <span>
#include <string_view>

namespace tapml {

struct IntrinsicInfo {
  const char* name;
  int operands;
  // True where lower_math replaces it by a polynomial unless the platform's own is good to 2 ULP.
  bool needs_math;
  const char* doc;
};

// exp log tanh sin cos pow erf sqrt rsqrt fma floor trunc round abs isnan,
// and on integers shift_left shift_right bit_and bit_or bit_xor; reinterpret keeps the bits and
// changes the dtype (of equal width).
std::span<const IntrinsicInfo> intrinsic_table();
const IntrinsicInfo* find_intrinsic(std::string_view name);

}  // namespace tapml
