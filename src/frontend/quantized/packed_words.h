// Integers of a few bits in a row of 32-bit words, the first in the lowest bits.
#pragma once

#include <cstdint>

namespace tapml::frontend {

inline constexpr int64_t kWordBits = 32;

// Integer `index` of words that are `stride` apart; it may begin in one word and end in the next.
inline uint32_t packed_at(const uint32_t* words, int64_t stride, int64_t index, int bits) {
  const int64_t bit = index * bits, word = bit / kWordBits;
  const int shift = static_cast<int>(bit % kWordBits);
  uint64_t both = words[word * stride];
  if (shift + bits > kWordBits) both |= static_cast<uint64_t>(words[(word + 1) * stride]) << 32;
  return static_cast<uint32_t>(both >> shift & ((uint64_t{1} << bits) - 1));
}

}  // namespace tapml::frontend
