#include "base/hash.h"

#include <gtest/gtest.h>

#include <set>

namespace tapml {
namespace {

std::string hex_of(std::string_view text) { return to_hex(sha256(text)); }

TEST(Sha256Test, PublishedVectors) {
  EXPECT_EQ(hex_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex_of(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, PiecesGiveTheSameDigestAtEveryLengthAroundABlock) {
  for (size_t length = 50; length < 140; ++length) {
    std::string text(length, 'x');
    for (size_t i = 0; i < length; ++i) text[i] = static_cast<char>('a' + i % 26);
    for (size_t cut : {size_t{0}, size_t{1}, length / 2, length - 1}) {
      Sha256 hash;
      hash.update(text.substr(0, cut));
      hash.update(text.substr(cut));
      EXPECT_EQ(hash.digest(), sha256(text)) << length << " cut at " << cut;
    }
  }
}

TEST(Sha256Test, DigestStartsAfresh) {
  Sha256 hash;
  hash.update("something");
  hash.digest();
  hash.update("abc");
  EXPECT_EQ(hash.digest(), sha256("abc"));
}

TEST(HashTest, Hex) { EXPECT_EQ(hash_hex(0x0123456789abcdefu), "0123456789abcdef"); }

TEST(HashTest, CombineDependsOnOrderAndEveryInput) {
  EXPECT_NE(hash_combine(hash_combine(0, 1), 2), hash_combine(hash_combine(0, 2), 1));
  EXPECT_NE(hash_combine(0, 0), 0u);
  std::set<uint64_t> seen;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    for (uint64_t value = 0; value < 100; ++value) seen.insert(hash_combine(seed, value) >> 20);
  }
  EXPECT_EQ(seen.size(), 10000u);
}

TEST(HashTest, StringsAreStableAcrossRuns) {
  EXPECT_EQ(hash_string("matmul"), hash_string("matmul"));
  EXPECT_NE(hash_string(""), hash_string(std::string_view("\0", 1)));
  EXPECT_NE(hash_string("ab"), hash_string("ba"));
  // Kernel names contain these hashes: a change of the function renames every kernel.
  EXPECT_EQ(hash_hex(hash_string("matmul")), "749a1099aacd0e4c");
  EXPECT_EQ(hash_hex(hash_combine(1, 2)), "c4a8d7fe6aadb4ba");
}

}  // namespace
}  // namespace tapml
