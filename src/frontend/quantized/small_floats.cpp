#include "frontend/quantized/small_floats.h"

#include <cmath>
#include <limits>

namespace tapml::frontend {

std::vector<float> float8_values(bool has_five_exponent_bits) {
  const int mantissa_bits = has_five_exponent_bits ? 2 : 3, bias = has_five_exponent_bits ? 15 : 7;
  const int steps = 1 << mantissa_bits;
  // The magnitude from which on there are no numbers.
  const int least_special = has_five_exponent_bits ? 0x7c : 0x7f;
  std::vector<float> values(256);
  for (int code = 0; code < 256; ++code) {
    const int magnitude = code & 0x7f, exponent = magnitude >> mantissa_bits;
    const int mantissa = magnitude % steps + (exponent > 0 ? steps : 0);
    float value = std::ldexp(static_cast<float>(mantissa),
                             (exponent > 0 ? exponent : 1) - bias - mantissa_bits);
    if (magnitude >= least_special) value = std::numeric_limits<float>::quiet_NaN();
    values[static_cast<size_t>(code)] = code < 128 ? value : -value;
  }
  return values;
}

std::vector<float> float4_values() {
  return {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};
}

float power_of_two(uint8_t code) {
  if (code == 255) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0f, code - 127);
}

}  // namespace tapml::frontend
