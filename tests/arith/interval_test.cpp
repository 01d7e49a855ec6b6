#include "arith/interval.h"

#include <gtest/gtest.h>

#include "ir/expr.h"

namespace tapml::arith {
namespace {

// Every operation over all pairs of small ranges contains exactly the possible results, or more.
TEST(Range, ContainsAllResults) {
  for (int64_t al = -4; al <= 4; ++al) {
    for (int64_t ah = al; ah <= 4; ++ah) {
      for (int64_t bl = -4; bl <= 4; ++bl) {
        for (int64_t bh = bl; bh <= 4; ++bh) {
          Range a{al, ah}, b{bl, bh};
          Range quotient = range_floordiv(a, b), remainder = range_floormod(a, b);
          for (int64_t x = al; x <= ah; ++x) {
            for (int64_t y = bl; y <= bh; ++y) {
              ASSERT_TRUE((a + b).contains(x + y));
              ASSERT_TRUE((a * b).contains(x * y));
              ASSERT_TRUE((-a).contains(-x));
              ASSERT_TRUE(range_min(a, b).contains(std::min(x, y)));
              ASSERT_TRUE(range_max(a, b).contains(std::max(x, y)));
              if (y == 0) continue;
              ASSERT_TRUE(quotient.contains(floor_div(x, y))) << x << "//" << y;
              ASSERT_TRUE(remainder.contains(floor_mod(x, y))) << x << "%" << y;
            }
          }
        }
      }
    }
  }
}

TEST(Range, Infinities) {
  Range all, natural = Range::at_least(0), three = Range::point(3);
  EXPECT_EQ(natural + three, Range::at_least(3));
  EXPECT_EQ(natural * Range::point(-2), Range::at_most(0));
  EXPECT_EQ(all * Range::point(0), Range::point(0));
  EXPECT_EQ(-natural, Range::at_most(0));
  EXPECT_EQ(range_floordiv(natural, three), natural);
  EXPECT_EQ(range_floormod(all, three), (Range{0, 2}));
  EXPECT_EQ(range_floormod(natural, natural), natural);
  EXPECT_EQ(range_floordiv(all, Range::point(0)), all);
}

TEST(Range, RoundsOutwardsAtTheLimits) {
  Range large = Range::point(INT64_MAX);
  EXPECT_EQ(large.hi, Range::kPosInf);
  EXPECT_EQ(large.lo, Range::kLimit);
  Range small = Range::point(INT64_MIN);
  EXPECT_EQ(small.lo, Range::kNegInf);
  EXPECT_EQ(small.hi, -Range::kLimit);
  Range square = Range{-(int64_t{1} << 40), int64_t{1} << 40};
  EXPECT_EQ(square * square, Range());
}

TEST(Interval, Conversion) {
  EXPECT_EQ(to_interval(Range::at_least(2)), (Interval{2, {}}));
  EXPECT_EQ(to_range(Interval{{}, 5}), Range::at_most(5));
  EXPECT_EQ(to_interval(dtype_range(DType::kI64)), Interval());
  EXPECT_EQ(dtype_range(DType::kI32).hi, 2147483647);
}

}  // namespace
}  // namespace tapml::arith
