// Levels of a few bits in rows of bytes.
#include "tensor/packed_levels.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tapml {
namespace {

TEST(PackedLevels, AreReadBack) {
  std::mt19937 random(1);
  for (int bits = kLeastLevelBits; bits <= kMostLevelBits; ++bits) {
    for (const int64_t columns : {8, 24, 256}) {
      std::vector<uint8_t> levels(static_cast<size_t>(columns));
      for (uint8_t& level : levels) level = static_cast<uint8_t>(random() % (1U << bits));
      std::vector<std::byte> row(static_cast<size_t>(packed_row_bytes(columns, bits)));
      pack_levels(levels, bits, row.data());
      for (int64_t i = 0; i < columns; ++i) {
        EXPECT_EQ(level_at(row.data(), columns, bits, i), levels[static_cast<size_t>(i)])
            << bits << " bits, column " << i << " of " << columns;
      }
    }
  }
}

// Files and other programs may rely on it.
TEST(PackedLevels, HaveOneLayout) {
  const auto packed = [](int bits) {
    const std::vector<uint8_t> levels = {0, 1, 2, 3, 3, 2, 1, 0};
    std::vector<std::byte> row(static_cast<size_t>(packed_row_bytes(8, bits)));
    pack_levels(levels, bits, row.data());
    std::vector<int> bytes;
    for (const std::byte byte : row) bytes.push_back(static_cast<int>(byte));
    return bytes;
  };
  EXPECT_EQ(packed(2), (std::vector<int>{0xe4, 0x1b}));
  EXPECT_EQ(packed(3), (std::vector<int>{0xe4, 0x1b, 0}));
  EXPECT_EQ(packed(4), (std::vector<int>{0x10, 0x32, 0x23, 0x01}));
  EXPECT_EQ(packed(6), (std::vector<int>{0x10, 0x32, 0x23, 0x01, 0, 0}));
  std::vector<std::byte> row(3);
  const std::vector<uint8_t> high = {4, 0, 0, 0, 0, 0, 0, 7};
  pack_levels(high, 3, row.data());
  EXPECT_EQ(row[2], std::byte{0x81});
}

}  // namespace
}  // namespace tapml
