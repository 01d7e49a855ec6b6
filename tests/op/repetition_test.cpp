// Sums of terms that repeat: their rounding errors do not cancel as those of different terms do.
#include "op/reference/repetition.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "op/reference/helpers.h"

namespace tapml::op::reference {
namespace {

double factor_of(const std::vector<double>& terms) {
  Repetition repetition;
  for (const double term : terms) repetition.add(term);
  return repetition.factor();
}

std::vector<double> drawn(size_t count, size_t distinct, RandomStream& random) {
  std::vector<double> values(distinct), terms(count);
  for (double& value : values) value = static_cast<float>(0.5 + 0.5 * random.unit());
  for (double& term : terms) term = values[random.below(static_cast<uint32_t>(distinct))];
  return terms;
}

TEST(Repetition, IsTheMeanNumberOfEqualTerms) {
  EXPECT_EQ(factor_of({}), 1);
  EXPECT_EQ(factor_of({3}), 1);
  EXPECT_EQ(factor_of({1, 2, 3, 4}), 1);
  EXPECT_EQ(factor_of({7, 7, 7, 7}), 4);
  EXPECT_EQ(factor_of({1, 2, 1, 2}), 2);
  EXPECT_EQ(factor_of({0, 0, 0, 5}), 1) << "zeros are added without rounding";
}

TEST(Repetition, IsEstimatedForManyTerms) {
  RandomStream random(1, "repetition");
  for (const size_t count : {5000, 28672, 300000}) {
    std::vector<double> terms(count);
    for (size_t i = 0; i < count; ++i) terms[i] = 1 + static_cast<double>(i);
    EXPECT_EQ(factor_of(terms), 1);
    EXPECT_DOUBLE_EQ(factor_of(std::vector<double>(count, 0.1)), static_cast<double>(count));
    // With a period too.
    for (size_t i = 0; i < count; ++i) terms[i] = 1 + static_cast<double>(i % 64);
    EXPECT_NEAR(factor_of(terms) * 64 / static_cast<double>(count), 1, 0.25) << count;
    terms = drawn(count, 128, random);
    EXPECT_NEAR(factor_of(terms) * 128 / static_cast<double>(count), 1, 0.25) << count;
  }
}

// Sequential f32 sums of few distinct values, which are as far off as the repetition says.
TEST(Repetition, BoundsHonestSums) {
  RandomStream random(2, "honest sums");
  const double unit = 0x1p-24;
  int beyond_without = 0;
  for (const size_t distinct : {1, 2, 16, 128, 5000}) {
    for (const size_t count : {576, 4096, 8191, 28672}) {
      for (int draw = 0; draw < 40; ++draw) {
        const std::vector<double> terms = drawn(count, distinct, random);
        float sum = 0;
        double exact = 0;
        SumRounding rounding;
        Repetition repetition;
        for (const double term : terms) {
          sum += static_cast<float>(term);
          exact += term;
          rounding.add(term);
          repetition.add(term);
        }
        const double error = std::fabs(sum - exact);
        EXPECT_LE(error, Error::of(0, rounding.variance(unit, repetition.factor())).bound)
            << count << " terms of " << distinct;
        beyond_without += error > Error::of(0, rounding.variance(unit)).bound ? 1 : 0;
      }
    }
  }
  EXPECT_GT(beyond_without, 50) << "without it, honest sums would be accused";
}

}  // namespace
}  // namespace tapml::op::reference
