#include "base/checksum.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <vector>

namespace tapml {
namespace {

uint64_t of(std::string_view text) { return checksum64(std::as_bytes(std::span(text))); }

// Published values of XXH64 with seed 0.
TEST(Checksum, KnownValues) {
  EXPECT_EQ(of(""), 0xef46db3751d8e999u);
  EXPECT_EQ(of("a"), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(of("abc"), 0x44bc2cf5ad770999u);
  EXPECT_EQ(of("Nobody inspects the spammish repetition"), 0xfbcea83c8a378bf1u);
}

TEST(Checksum, EveryByteCounts) {
  for (size_t size : {1u, 3u, 4u, 7u, 8u, 31u, 32u, 33u, 100u}) {
    std::vector<std::byte> bytes(size, std::byte{7});
    std::set<uint64_t> seen = {checksum64(bytes)};
    for (std::byte& byte : bytes) {
      byte ^= std::byte{0x10};
      EXPECT_TRUE(seen.insert(checksum64(bytes)).second) << size;
      byte ^= std::byte{0x10};
    }
  }
}

TEST(Checksum, PiecesGiveTheSame) {
  std::vector<std::byte> bytes(200);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37);
  for (size_t piece : {1u, 5u, 31u, 32u, 33u, 64u, 199u}) {
    Checksum64 sum;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      EXPECT_EQ(sum.value(), checksum64(std::span(bytes).first(at)));
      sum.add(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)));
    }
    EXPECT_EQ(sum.value(), checksum64(bytes)) << piece;
  }
}

}  // namespace
}  // namespace tapml
