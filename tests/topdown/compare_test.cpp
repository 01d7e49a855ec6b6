// The arithmetic of comparisons with the reference.
#include "topdown/reference_run/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapml::topdown {
namespace {

const float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

HostTensor floats(const std::vector<float>& values) {
  return HostTensor::from<float>(DType::kF32, {static_cast<int64_t>(values.size())}, values);
}

op::RefTensor reference(const std::vector<float>& values, double bound) {
  op::RefTensor tensor = op::RefTensor::from(floats(values));
  tensor.bound.assign(tensor.values.size(), bound);
  return tensor;
}

TEST(Measure, LargestErrorAndItsBound) {
  Errors errors = measure(floats({1, 2.5, 3, -4}), reference({1, 2, 3, -4.25}, 0.5), {});
  EXPECT_EQ(errors.max_abs, 0.5);
  EXPECT_EQ(errors.max_ratio, 1);
  EXPECT_EQ(errors.bound_at_max, 0.5);
  EXPECT_EQ(errors.worst, 1);
  EXPECT_EQ(errors.max_relative, 0.25);
  EXPECT_EQ(errors.mask_mismatches, 0);
  // Neighbors of 2 are 2^-22 apart, those of 4.25 2^-21.
  EXPECT_EQ(errors.max_ulp, std::ldexp(0.5, 22));
  const double squares = 1 + 4 + 9 + 4.25 * 4.25;
  EXPECT_DOUBLE_EQ(errors.nmse, (0.25 + 0.0625) / squares);
  const double own = 1 + 6.25 + 9 + 16;
  EXPECT_DOUBLE_EQ(errors.cosine, (1 + 5 + 9 + 17) / std::sqrt(own * squares));
}

HostTensor rows(const std::vector<float>& values) {
  return HostTensor::from<float>(DType::kF32, {static_cast<int64_t>(values.size()), 1}, values);
}

TEST(Measure, SlackAddsToTheBoundsOfItsRow) {
  EXPECT_EQ(measure(floats({2}), reference({1}, 0.5), {}).max_ratio, 2);
  op::RefTensor ones = op::RefTensor::from(rows({0, 0}));
  ones.bound = {0.5, 0.5};
  // The source is 0.375 off in the first row.
  const Slack slack(rows({0.375, 0}), ones);
  EXPECT_EQ(measure(rows({1, 0}), ones, slack).max_ratio, 0.5);
  EXPECT_EQ(measure(rows({0, 1}), ones, slack).max_ratio, 2);
}

TEST(Measure, AnyValueIsRightWithinAnInfiniteBound) {
  for (float value : {2.0F, kInf, kNan}) {
    const Errors errors = measure(floats({value}), reference({1}, double{kInf}), {});
    EXPECT_EQ(errors.mask_mismatches, 0);
    EXPECT_EQ(errors.max_ratio, 0);
  }
}

TEST(Measure, ABoundOfZeroAllowsNothing) {
  EXPECT_EQ(measure(floats({1}), reference({1}, 0), {}).max_ratio, 0);
  EXPECT_TRUE(std::isinf(measure(floats({1.0000001f}), reference({1}, 0), {}).max_ratio));
}

TEST(Measure, NanAndInfinityMustMatchTheReference) {
  EXPECT_EQ(measure(floats({kNan, kInf, -kInf, 1}), reference({kNan, kInf, -kInf, 1}, 0), {})
                .mask_mismatches,
            0);
  EXPECT_EQ(measure(floats({1}), reference({kNan}, 1), {}).mask_mismatches, 1);
  EXPECT_EQ(measure(floats({kNan}), reference({1}, 1), {}).mask_mismatches, 1);
  EXPECT_EQ(measure(floats({kNan}), reference({kInf}, 1), {}).mask_mismatches, 1);
  EXPECT_EQ(measure(floats({3e38f}), reference({kInf}, 1e38), {}).mask_mismatches, 1);
  EXPECT_EQ(measure(floats({-kInf}), reference({kInf}, 1), {}).mask_mismatches, 1);
}

TEST(Compare, AllowsFourTimesTheSourcesErrorAndTheBound) {
  // The source is 0.25 off, and rounding explains 2^-24 of it: slightly less than 4 * 0.25 + 0.5 is
  // allowed.
  Comparison inside = compare(floats({2.4375}), floats({1.25}), reference({1}, 0.5));
  EXPECT_EQ(inside.outcome, Outcome::kPass);
  EXPECT_EQ(inside.allowed, 1.5 - std::ldexp(4, -24));
  Comparison outside = compare(floats({2.5625}), floats({1.25}), reference({1}, 0.5));
  EXPECT_EQ(outside.outcome, Outcome::kFail);
  EXPECT_FALSE(outside.target_ok);
}

TEST(Compare, RoundingOfALargeResultDoesNotExcuseASmallOne) {
  // In f16, neighbors of 2048 are 2 apart: a correct source is 0.5 off there, which says nothing
  // about 1.
  op::RefTensor exact = op::RefTensor::from(floats({2048.5, 1}));
  exact.dtype = DType::kF16;
  exact.bound = {2 * 2048.5 / 2048, 2.0 / 2048};
  auto halves = [](const std::vector<float>& values) {
    std::vector<uint16_t> bits(values.size());
    std::ranges::transform(values, bits.begin(), f32_to_f16);
    return HostTensor::from<uint16_t>(DType::kF16, {static_cast<int64_t>(bits.size())}, bits);
  };
  EXPECT_EQ(compare(halves({2048, 1}), halves({2048, 1}), exact).outcome, Outcome::kPass);
  EXPECT_EQ(compare(halves({2050, 1}), halves({2048, 1}), exact).outcome, Outcome::kPass);
  EXPECT_EQ(compare(halves({2048, 1.0078125F}), halves({2048, 1}), exact).outcome, Outcome::kFail);
}

TEST(Compare, AWrongSourceDoesNotExcuseTheTarget) {
  Comparison wrong = compare(floats({1.25}), floats({9}), reference({1}, 0.5));
  EXPECT_EQ(wrong.outcome, Outcome::kSourceWrong);
  EXPECT_TRUE(wrong.target_ok);
  EXPECT_EQ(wrong.allowed, 0.5);
  // A target that agrees with a wrong source is wrong.
  EXPECT_EQ(compare(floats({9}), floats({9}), reference({1}, 0.5)).outcome, Outcome::kFail);
  EXPECT_EQ(compare(floats({1}), floats({kNan}), reference({1}, 0.5)).outcome,
            Outcome::kSourceWrong);
}

TEST(Compare, ATargetOfNansFails) {
  Comparison nans = compare(floats({kNan, 1}), floats({1, 1}), reference({1, 1}, 10));
  EXPECT_EQ(nans.outcome, Outcome::kFail);
  EXPECT_EQ(nans.target.mask_mismatches, 1);
}

TEST(Compare, FailuresRankAbovePasses) {
  const op::RefTensor ones = reference({1, 1}, 0.5);
  const HostTensor right = floats({1, 1});
  const Comparison exact = compare(right, right, ones),
                   near = compare(floats({1.25, 1}), right, ones),
                   far = compare(floats({9, 1}), right, ones),
                   nan = compare(floats({kNan, 1}), right, ones),
                   nans = compare(floats({kNan, kNan}), right, ones),
                   source = compare(right, floats({kNan, 1}), ones);
  const std::vector<const Comparison*> rising = {&exact, &near, &source, &far, &nan, &nans};
  for (size_t i = 0; i < rising.size(); ++i) {
    for (size_t j = 0; j < rising.size(); ++j) {
      EXPECT_EQ(is_worse(*rising[i], *rising[j]), i > j) << i << " and " << j;
    }
  }
}

TEST(Compare, UnusedElementsDoNotCount) {
  op::RefTensor sampled = reference({1, 1, 1}, 0.5);
  sampled.wanted = {1, 0, 1};
  EXPECT_EQ(compare(floats({1, 9, 1}), floats({1, 1, 1}), sampled).outcome, Outcome::kPass);
  EXPECT_EQ(compare(floats({1, 1, 9}), floats({1, 1, 1}), sampled).outcome, Outcome::kFail);
}

}  // namespace
}  // namespace tapml::topdown
