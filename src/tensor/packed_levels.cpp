#include "tensor/packed_levels.h"

#include <array>

namespace tapml {

std::span<const LevelPlane> level_planes(int bits) {
  static constexpr std::array<LevelPlane, 1> kTwo = {{{2, 0}}}, kFour = {{{4, 0}}};
  static constexpr std::array<LevelPlane, 2> kThree = {{{2, 0}, {1, 2}}};
  static constexpr std::array<LevelPlane, 2> kFive = {{{4, 0}, {1, 4}}}, kSix = {{{4, 0}, {2, 4}}};
  switch (bits) {
    case 2:
      return kTwo;
    case 3:
      return kThree;
    case 5:
      return kFive;
    case 6:
      return kSix;
    default:
      return kFour;
  }
}

void pack_levels(std::span<const uint8_t> levels, int bits, std::byte* row) {
  for (const LevelPlane& plane : level_planes(bits)) {
    const auto in_byte = static_cast<size_t>(plane.in_byte());
    const unsigned mask = (1U << plane.bits) - 1;
    for (size_t first = 0; first < levels.size(); first += in_byte) {
      unsigned byte = 0;
      for (size_t i = 0; i < in_byte; ++i) {
        byte |= (levels[first + i] >> plane.shift & mask) << (i * static_cast<size_t>(plane.bits));
      }
      *row++ = static_cast<std::byte>(byte);
    }
  }
}

int level_at(const std::byte* row, int64_t columns, int bits, int64_t column) {
  unsigned level = 0;
  for (const LevelPlane& plane : level_planes(bits)) {
    const int64_t in_byte = plane.in_byte();
    const auto byte = static_cast<unsigned>(row[column / in_byte]);
    const auto at = static_cast<unsigned>(column % in_byte * plane.bits);
    level |= (byte >> at & ((1U << plane.bits) - 1)) << plane.shift;
    row += columns / in_byte;
  }
  return static_cast<int>(level);
}

}  // namespace tapml
