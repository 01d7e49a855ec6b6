// Division of sizes that rounds up.
#pragma once

#include <concepts>

namespace tapml {

// How many pieces of `size`, above 0, cover `extent`, 0 or more. The sum of both has to fit.
template <std::integral T>
constexpr T ceil_div(T extent, T size) {
  return (extent + size - 1) / size;
}

// The least multiple of `step` that is `value` or more; the same limits.
template <std::integral T>
constexpr T round_up(T value, T step) {
  return ceil_div(value, step) * step;
}

}  // namespace tapml
