// Symbolic comparison, maximum and sum of sizes.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "abi/alignment.h"
#include "arith/evaluate.h"
#include "ir/symbol.h"
#include "passes/memory/sizes.h"

namespace tapml::passes {
namespace {

class SizesTest : public ::testing::Test {
 protected:
  int64_t value(int32_t size, const arith::Values& values) const {
    return arith::evaluate(sizes_.bytes(size), values).value();
  }
  std::string text(int32_t size) const { return to_string(sizes_.bytes(size)); }

  VarBounds bounds_;
  Sizes sizes_{bounds_};
  Var n_ = make_size("n"), m_ = make_size("m"), k_ = make_size("k");
};

TEST_F(SizesTest, TheGreatestIsIndependentOfTheOrder) {
  const int32_t a = sizes_.add(n_ * 16), b = sizes_.add(m_ * 16), c = sizes_.add(k_ * 32);
  const int32_t joined = sizes_.join(sizes_.join(a, b), c);
  EXPECT_EQ(sizes_.join(c, sizes_.join(b, a)), joined);
  EXPECT_EQ(sizes_.join(joined, b), joined);
  EXPECT_EQ(sizes_.add(max(k_ * 32, max(m_ * 16, n_ * 16))), joined);
  EXPECT_EQ(sizes_.typical(joined), 32 * 512);
  // In any form that the simplifier gives it.
  EXPECT_EQ(sizes_.add(floordiv(max(n_, m_ + 1) * 32, 2) + 16),
            sizes_.join(sizes_.add(n_ * 16 + 16), sizes_.add(m_ * 16 + 32)));
}

TEST_F(SizesTest, TheGreatestIsComparedTermByTerm) {
  const int32_t a = sizes_.add(n_ * 16), b = sizes_.add(m_ * 16), c = sizes_.add(k_ * 16);
  const int32_t few = sizes_.join(a, b);
  const int32_t all = sizes_.join(few, c);
  EXPECT_TRUE(sizes_.at_most(a, few));
  EXPECT_TRUE(sizes_.at_most(few, all));
  EXPECT_FALSE(sizes_.at_most(all, few));
  EXPECT_FALSE(sizes_.at_most(c, few));
  EXPECT_TRUE(sizes_.at_most(few, sizes_.join(sizes_.add(n_ * 32), sizes_.add(m_ * 48))));
  // A term that another one dominates is dropped.
  EXPECT_EQ(sizes_.join(few, sizes_.add(n_ * 48)), sizes_.join(b, sizes_.add(n_ * 48)));
}

TEST_F(SizesTest, SumsAndAlignmentGoIntoTheTerms) {
  const int32_t a = sizes_.add(n_ * 16), b = sizes_.add(m_ * 4 * kTensorAlignment),
                c = sizes_.add(32);
  const int32_t few = sizes_.join(a, b);
  EXPECT_EQ(sizes_.sum(few, c), sizes_.join(sizes_.sum(a, c), sizes_.sum(b, c)));
  EXPECT_EQ(sizes_.sum(c, few), sizes_.sum(few, c));
  EXPECT_EQ(sizes_.aligned(few), sizes_.join(sizes_.aligned(a), b));
  EXPECT_TRUE(sizes_.at_most(few, sizes_.aligned(few)));
  EXPECT_TRUE(sizes_.at_most(sizes_.aligned(few), sizes_.sum(sizes_.aligned(few), c)));
}

TEST_F(SizesTest, ComplexSumsAreNotFormed) {
  int32_t one = sizes_.add(n_ * 16), other = sizes_.add(m_ * 16);
  for (int i = 0; i < 6; ++i) {
    one = sizes_.join(one, sizes_.add(make_size("k") * 16));
    other = sizes_.join(other, sizes_.add(make_size("k") * 16));
  }
  EXPECT_TRUE(sizes_.may_join(one, other));
  EXPECT_EQ(sizes_.sum(one, other), -1);
  EXPECT_EQ(sizes_.sum(sizes_.add(INT64_MAX - 15), sizes_.add(16)), -1);
}

TEST_F(SizesTest, RandomSizesHaveTheirValues) {
  const std::vector<Var> vars = {n_, m_, k_};
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    auto pick = [&](size_t count) {
      return std::uniform_int_distribution<size_t>(0, count - 1)(random);
    };
    arith::Values values;
    for (const Var& var : vars) values[var.get()] = static_cast<int64_t>(pick(50));
    struct Known {
      int32_t size;
      int64_t bytes;
    };
    std::vector<Known> all;
    for (const Var& var : vars) {
      for (int64_t scale : {16, 48}) {
        const int32_t size = sizes_.add(var * scale);
        all.push_back({size, values[var.get()] * scale});
      }
    }
    all.push_back({sizes_.add(96), 96});
    for (int step = 0; step < 60; ++step) {
      const Known a = all[pick(all.size())], b = all[pick(all.size())];
      Known made{-1, 0};
      switch (pick(3)) {
        case 0:
          if (sizes_.may_join(a.size, b.size))
            made = {sizes_.join(a.size, b.size), std::max(a.bytes, b.bytes)};
          break;
        case 1:
          made = {sizes_.sum(a.size, b.size), a.bytes + b.bytes};
          break;
        default:
          made = {sizes_.aligned(a.size),
                  (a.bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment};
      }
      if (made.size < 0) continue;
      ASSERT_EQ(value(made.size, values), made.bytes) << text(made.size) << ", seed " << seed;
      all.push_back(made);
      const Known& other = all[pick(all.size())];
      if (sizes_.at_most(made.size, other.size)) {
        ASSERT_LE(made.bytes, other.bytes) << text(made.size) << " and " << text(other.size);
      }
    }
  }
}

}  // namespace
}  // namespace tapml::passes
