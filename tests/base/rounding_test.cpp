#include "base/rounding.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace tapml {
namespace {

TEST(RoundingTest, QuotientsAndMultiplesRoundUp) {
  EXPECT_EQ(ceil_div(int64_t{0}, int64_t{4}), 0);
  EXPECT_EQ(ceil_div(int64_t{1}, int64_t{4}), 1);
  EXPECT_EQ(ceil_div(int64_t{8}, int64_t{4}), 2);
  EXPECT_EQ(ceil_div(int64_t{9}, int64_t{4}), 3);
  EXPECT_EQ(round_up(size_t{0}, size_t{16}), 0u);
  EXPECT_EQ(round_up(size_t{16}, size_t{16}), 16u);
  EXPECT_EQ(round_up(size_t{17}, size_t{16}), 32u);
}

}  // namespace
}  // namespace tapml
