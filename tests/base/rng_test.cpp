#include "base/rng.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace tapml {
namespace {

// Known answers from the Random123 distribution (philox 4x32, 10 rounds).
TEST(PhiloxTest, KnownAnswers) {
  EXPECT_EQ(philox_block({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox_block({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox_block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RngTest, KeyIsTheStartOfTheHashOfSeedAndName) {
  // Values from tests/golden/rng.py for seed 7 and this name.
  EXPECT_EQ(philox_key(7, "model.embed_tokens.weight"), (PhiloxKey{0x252d8c1bu, 0x5a489cdcu}));
}

TEST(RngTest, ElementsAreAFunctionOfTheirIndex) {
  PhiloxKey key = philox_key(3, "stream");
  std::vector<float> whole(103);
  fill_uniform(whole, key);
  for (uint64_t first : {0, 1, 2, 3, 4, 5, 50, 99}) {
    std::vector<float> part(whole.size() - first);
    fill_uniform(part, key, first);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<long>(first)))
        << first;
  }
  RandomStream stream(3, "stream");
  for (uint32_t i = 0; i < whole.size(); ++i) {
    const uint32_t word = stream.next();
    EXPECT_EQ(word, philox_block({i / 4, 0, 0, 0}, key)[i % 4]) << i;
    EXPECT_EQ(whole[i], unit_float(word)) << i;
  }
  EXPECT_EQ(stream.position(), whole.size());
}

TEST(RngTest, CounterCarriesIntoItsSecondWord) {
  PhiloxKey key = {1, 2};
  RandomStream stream(key, (uint64_t{1} << 34) + 4 * 5 + 2);
  EXPECT_EQ(stream.next(), philox_block({5, 1, 0, 0}, key)[2]);
}

TEST(RngTest, UnitFloatIsExactAndHalfOpen) {
  EXPECT_EQ(unit_float(0), -1.0f);
  EXPECT_EQ(unit_float(0x80000000u), 0.0f);
  EXPECT_EQ(unit_float(0xffffffffu), 1.0f - 0x1p-23f);
  EXPECT_EQ(unit_float(0x100), -1.0f + 0x1p-23f);
}

TEST(RngTest, UniformMatchesGolden) {
  std::vector<float> values(6);
  fill_uniform(values, philox_key(7, "model.embed_tokens.weight"));
  const float expected[6] = {-0x1.3c69f40000000p-1f, 0x1.16cd2c0000000p-1f,  0x1.6275500000000p-2f,
                             0x1.023b200000000p-2f,  -0x1.fce2c00000000p-4f, 0x1.1e62700000000p-1f};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(values[i], expected[i]) << i;
}

TEST(RngTest, BoundedDrawsStayInRangeAndReachBothEnds) {
  RandomStream stream(1, "bounds");
  std::set<uint32_t> below;
  std::set<int64_t> between;
  for (int i = 0; i < 400; ++i) {
    below.insert(stream.below(7));
    between.insert(stream.between(-2, 3));
    double unit = stream.unit();
    EXPECT_GE(unit, 0);
    EXPECT_LT(unit, 1);
  }
  EXPECT_EQ(below, (std::set<uint32_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(between, (std::set<int64_t>{-2, -1, 0, 1, 2, 3}));
  EXPECT_EQ(stream.below(1), 0u);
  stream.between(INT64_MIN, INT64_MAX);
}

}  // namespace
}  // namespace tapml
