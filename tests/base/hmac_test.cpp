#include "base/hmac.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tapml {
namespace {

// RFC 4231, test cases 1 and 2, with keys padded with zeros to 32 bytes as HMAC does.
TEST(Hmac, PublishedValues) {
  HmacKey key = {};
  std::fill_n(key.begin(), 20, std::byte{0x0b});
  const std::string_view hi = "Hi There";
  EXPECT_EQ(to_hex(hmac_sha256(key, {std::as_bytes(std::span(hi))})),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  key = {};
  const std::string_view jefe = "Jefe", first = "what do ya want ", second = "for nothing?";
  std::ranges::copy(std::as_bytes(std::span(jefe)), key.begin());
  EXPECT_EQ(
      to_hex(hmac_sha256(key, {std::as_bytes(std::span(first)), std::as_bytes(std::span(second))})),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Hmac, DigestsAreCompared) {
  const Sha256Digest one = sha256("one");
  EXPECT_TRUE(same_digest(one, sha256("one")));
  for (size_t i = 0; i < one.size(); ++i) {
    Sha256Digest other = one;
    other[i] ^= 1;
    EXPECT_FALSE(same_digest(one, other)) << i;
  }
}

}  // namespace
}  // namespace tapml
