// Tables of the values of floats of four and eight bits.
#pragma once

#include <cstdint>
#include <vector>

namespace tapml::frontend {

// 256 values of "F8_E4M3" (without infinities) or "F8_E5M2" (OCP 8-bit floating point
// specification). An infinity is a NaN here, which stands for a code that no weight may have.
std::vector<float> float8_values(bool has_five_exponent_bits);
// 16 values of the OCP's E2M1.
std::vector<float> float4_values();
// 2^(code - 127), "F8_E8M0"; a NaN for 255.
float power_of_two(uint8_t code);

}  // namespace tapml::frontend
