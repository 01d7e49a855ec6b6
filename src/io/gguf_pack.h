// Writing of packed integers in blocks. Private to the quantizers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace tapml::gguf_pack {

inline void put_u16(std::byte* to, uint16_t value) {
  to[0] = static_cast<std::byte>(value & 255);
  to[1] = static_cast<std::byte>(value >> 8);
}

// Writes a scale that f16 holds, and returns it as it is read. Larger ones become the largest.
inline float put_scale(std::byte* to, float value) {
  constexpr float kLargest = 65504;
  const uint16_t bits = f32_to_f16(std::clamp(value, -kLargest, kLargest));
  put_u16(to, bits);
  return f16_to_f32(bits);
}

// Adds bits to a byte in which they are 0.
inline void add_bits(std::byte* to, int64_t at, int bits) {
  to[at] |= static_cast<std::byte>(bits);
}

// 1 / scale, 0 for a scale of 0 or one whose inverse is no number of f32.
inline float inverse_of(float scale) {
  const float inverse = scale != 0 ? 1 / scale : 0;
  return inverse - inverse == 0 ? inverse : 0;
}

}  // namespace tapml::gguf_pack
