// Integer division and rounding of sizes, rounding up.
#pragma once

#include <concepts>

namespace tapml {

// The number of pieces of `size` > 0 that cover `extent` >= 0. Their sum must not overflow.
template <std::integral T>
constexpr T ceil_div(T extent, T size) {
  return (extent + size - 1) / size;
}

// The least multiple of `step` that is at least `value`, within the same limits.
template <std::integral T>
constexpr T round_up(T value, T step) {
  return ceil_div(value, step) * step;
}

}  // namespace tapml
