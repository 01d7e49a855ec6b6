// Integers of two to six bits in rows of whole bytes.
//
// A byte holds neighbors of a row, the first in its lowest bits. What does not divide a byte is in
// two planes: levels of 3 bits are 2 + 1, of 5 bits 4 + 1, of 6 bits 4 + 2. The low parts of the
// whole row come first, then the high parts, each packed in this way. So an element is at a place
// that needs no division but by powers of two, and never crosses a byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tapml {

inline constexpr int kLeastLevelBits = 2, kMostLevelBits = 6;

// A part of each level of a row.
struct LevelPlane {
  int bits;   // in a byte's lowest bits after a shift
  int shift;  // of the part in the level
  int64_t in_byte() const { return 8 / bits; }
};

// The planes of levels of `bits` bits, 2 to 6, in their order in memory.
std::span<const LevelPlane> level_planes(int bits);

// Bytes of a row. `columns * bits` is a multiple of 8, and so are the bits of each plane.
inline int64_t packed_row_bytes(int64_t columns, int bits) { return columns * bits / 8; }

// Writes a row of levels, each below 2^bits, over packed_row_bytes() bytes.
void pack_levels(std::span<const uint8_t> levels, int bits, std::byte* row);

// The level at a column of a row of `columns` levels.
int level_at(const std::byte* row, int64_t columns, int bits, int64_t column);

}  // namespace tapml
