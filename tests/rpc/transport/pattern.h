// Bytes that reveal moves, losses and mix-ups.
#pragma once

#include <cstddef>
#include <vector>

namespace tapml::testing {

inline std::vector<std::byte> pattern(size_t size, int seed = 0) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 131 + i / 251 + seed);
  return bytes;
}

}  // namespace tapml::testing
