// A whole model's logits against the reference's: numbers computed by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "text/parser.h"
#include "topdown/reference_run/model_reference.h"

namespace tapml::topdown {
namespace {

constexpr int64_t kVocabulary = 6;

// Two positions after a prompt of one token. Logs of 1/2, 1/4, ...: known probabilities.
op::RefTensor reference_logits() {
  const std::vector<float> logits = {0, -1, -2, -3, -4, -5, 3, 1, 2, 0, 0, 0};
  return op::RefTensor::from(HostTensor::from<float>(DType::kF32, {1, 2, kVocabulary}, logits));
}

HostTensor row(const std::vector<float>& values) {
  return HostTensor::from<float>(DType::kF32, {1, kVocabulary}, values);
}

const HostTensor kFirst = row({0, -1, -2, -3, -4, -5}), kSecond = row({3, 1, 2, 0, 0, 0});

ModelReference model_reference() { return {reference_logits(), 1, {kFirst, kSecond}}; }

TEST(ModelCheck, TheReferencesOwnLogitsAgree) {
  const ModelCheck check = model_reference().check({kFirst, kSecond});
  EXPECT_TRUE(check.passed);
  EXPECT_EQ(check.positions, 2);
  EXPECT_EQ(check.max_abs, 0);
  EXPECT_EQ(check.kl_max, 0);
  EXPECT_EQ(check.top_k_agreement, 1);
  EXPECT_EQ(check.first_divergent, -1);
  EXPECT_EQ(divergence_text(check), "");
}

TEST(ModelCheck, DivergenceIsBetweenDistributions) {
  // Logits that differ only by a shift are the same distribution, whatever the error.
  const ModelCheck shifted = model_reference().check({row({7, 6, 5, 4, 3, 2}), kSecond});
  EXPECT_FALSE(shifted.passed);
  EXPECT_EQ(shifted.max_abs, 7);
  EXPECT_NEAR(shifted.kl_max, 0, 1e-15);
  EXPECT_EQ(shifted.first_divergent, -1);

  // Against a uniform target: log(6) minus the reference's entropy.
  const ModelCheck uniform = model_reference().check({row({0, 0, 0, 0, 0, 0}), kSecond});
  double scale = 0, entropy = 0;
  for (int i = 0; i < 6; ++i) scale += std::exp(-i);
  for (int i = 0; i < 6; ++i) {
    const double p = std::exp(-i) / scale;
    entropy -= p * std::log(p);
  }
  EXPECT_NEAR(uniform.kl_max, std::log(6.0) - entropy, 1e-12);
  EXPECT_NEAR(uniform.kl_mean, (std::log(6.0) - entropy) / 2, 1e-12);
}

TEST(ModelCheck, CandidatesAndTheirMargin) {
  // Token 2 before token 0; of the reference's five most likely of the second position, 0 .. 4, one
  // is replaced by 5.
  const ModelCheck check = model_reference().check({kFirst, row({1, 1, 2.5, 0, -1, 0})});
  EXPECT_EQ(check.first_divergent, 1);
  EXPECT_EQ(check.reference_token, 0);
  EXPECT_EQ(check.own_token, 2);
  EXPECT_EQ(check.margin, 1);
  EXPECT_EQ(check.top1_changes, 1);
  EXPECT_DOUBLE_EQ(check.top_k_agreement, 0.9);
  EXPECT_EQ(divergence_text(check),
            "token 1 after the prompt: 2, where the reference prefers 0 by 1.00e+00");
}

TEST(ModelCheck, NaNIsNotAgreement) {
  const float nan = std::nanf("");
  const ModelCheck check = model_reference().check({row({nan, nan, nan, nan, nan, nan}), kSecond});
  EXPECT_FALSE(check.passed);
  EXPECT_TRUE(std::isinf(check.kl_max));
  EXPECT_TRUE(std::isinf(check.max_abs));
}

// Models that say nothing, that accumulate in f16, and that quantize activations.
const char* const kPlain = "module\n";
const char* const kHalfSums = R"(module
def main(x: Tensor((2, 4), f16), w: Tensor((4, 4), f16)) -> Tensor((2, 4), f16) {
  y: Tensor((2, 4), f16) = matmul(x, w) {accumulation: f16}
  return y
})";
const char* const kQuantized = R"(module
def main(x: Tensor((2, 4), f32)) -> Tuple(Tensor((2, 4), i8), Tensor((2, 1), f32)) {
  y: Tuple(Tensor((2, 4), i8), Tensor((2, 1), f32)) = quantize(x) {group: 4}
  return y
})";

// A reference whose logits in lower precision are off by 0.01 at the first position, and by
// `second` at the other one.
ModelReference emulated_reference(std::vector<op::ProductRounding>& asked, float second,
                                  const char* model = kPlain) {
  ModelReference reference = model_reference();
  reference.set_emulation(
      [&asked, second](const op::ProductRounding& products) {
        asked.push_back(products);
        op::RefTensor logits = reference_logits();
        logits.values[0] += 0.01;
        logits.values[6] += second;
        return ReferenceLogits::of(logits, 0);
      },
      text::parse(model, "m.txt"));
  return reference;
}

TEST(ModelCheck, AllowancesWidenTheBoundsByTheirEffect) {
  constexpr Allowances kTF32{.precision = OperandPrecision::kTF32};
  std::vector<op::ProductRounding> asked;
  const ModelReference reference = emulated_reference(asked, 0.02F);
  const std::vector<HostTensor> off = {row({0.03F, -1, -2, -3, -4, -5}), kSecond};
  EXPECT_FALSE(reference.check(off).passed);
  EXPECT_FALSE(reference.check(off, {.relaxed_division = true}).passed);
  EXPECT_TRUE(reference.check({kFirst, kSecond}, kTF32).passed);
  EXPECT_TRUE(asked.empty()) << "only where it decides";

  const ModelCheck allowed = reference.check(off, kTF32);
  EXPECT_TRUE(allowed.passed);
  EXPECT_EQ(allowed.allowances, "precision=tf32");
  EXPECT_NEAR(allowed.bound, 4 * 0.01 + 5e-4, 1e-6);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].first, op::ProductFormat::kTF32Truncated);
  EXPECT_EQ(asked[0].second, op::ProductFormat::kTF32Truncated);
  EXPECT_EQ(asked[0].sums, op::ProductFormat::kExact);

  const ModelCheck wrong = reference.check({row({0.05F, -1, -2, -3, -4, -5}), kSecond}, kTF32);
  EXPECT_FALSE(wrong.passed);
  EXPECT_EQ(wrong.allowances, "precision=tf32") << "it fails even so";
  EXPECT_EQ(asked.size(), 1U) << "evaluated once";
  EXPECT_TRUE(reference.check(off, {.half_sums = true}).passed);
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[1].sums, op::ProductFormat::kF16);
  EXPECT_EQ(asked[1].first, op::ProductFormat::kExact);
}

// Levels near a tie are jumps that the source's own error does not show: one evaluation, at once.
TEST(ModelCheck, BoundsOfQuantizedActivationsHaveTheirJumps) {
  std::vector<op::ProductRounding> asked;
  const ModelReference reference = emulated_reference(asked, 0.02F, kQuantized);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_TRUE(asked[0].as_specified);
  EXPECT_TRUE(asked[0].is_exact());
  EXPECT_NEAR(reference.bound(), 4 * 0.01 + 5e-4, 1e-6);
  EXPECT_TRUE(reference.check({row({0.03F, -1, -2, -3, -4, -5}), kSecond}).passed);
  EXPECT_FALSE(reference.check({row({0.05F, -1, -2, -3, -4, -5}), kSecond}).passed);
  EXPECT_EQ(asked.size(), 1U);
}

TEST(ModelCheck, AFormatThatTheModelLeavesExcusesNothing) {
  std::vector<op::ProductRounding> asked;
  const ModelReference reference =
      emulated_reference(asked, std::numeric_limits<float>::infinity());
  const std::vector<HostTensor> off = {kFirst, row({3.01F, 1, 2, 0, 0, 0})};
  EXPECT_FALSE(reference.check(off, {.precision = OperandPrecision::kF16}).passed);
  EXPECT_EQ(asked.size(), 1U);
}

// What the program itself specifies is no allowance of a target.
TEST(ModelCheck, SpecifiedAccumulationWidensTheBounds) {
  std::vector<op::ProductRounding> asked;
  const ModelReference reference = emulated_reference(asked, 0.02F, kHalfSums);
  const ModelCheck check = reference.check({row({0.03F, -1, -2, -3, -4, -5}), kSecond});
  EXPECT_TRUE(check.passed);
  EXPECT_EQ(check.allowances, "");
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_TRUE(asked[0].as_specified);
  EXPECT_EQ(asked[0].sums, op::ProductFormat::kExact);
}

// Vectors of two texts, whose numbers are far below 1.
ReferenceLogits reference_vectors() {
  ReferenceLogits vectors;
  vectors.rows = {0.03, 0.04, 0.06, 0.08};
  vectors.vocabulary = 2;
  vectors.vectors = true;
  return vectors;
}

HostTensor vector(float a, float b) {
  return HostTensor::from<float>(DType::kF32, {2}, std::vector{a, b});
}

TEST(ModelCheck, VectorsHaveBoundsOfTheirOwnSize) {
  const ModelReference reference(reference_vectors(), {});
  const ModelCheck right = reference.check({vector(0.03f, 0.04f), vector(0.06f, 0.08f)});
  EXPECT_TRUE(right.passed);
  ASSERT_TRUE(right.cosine_distance);
  EXPECT_NEAR(*right.cosine_distance, 0, 1e-12);
  EXPECT_EQ(compared_text(right), "vectors of 2 texts");
  EXPECT_TRUE(reference.margins().empty());
  // 1e-4 of the largest number, which is far less than an error of a logit may be.
  EXPECT_NEAR(right.bound, 4e-6, 1e-12);
  const ModelCheck wrong = reference.check({vector(0.03f, 0.04f), vector(0.06f, 0.08005f)});
  EXPECT_FALSE(wrong.passed);
  EXPECT_NEAR(wrong.max_abs, 5e-5, 1e-8);
  EXPECT_NEAR(wrong.bound, 8e-6, 1e-12);
  EXPECT_GT(*wrong.cosine_distance, 1e-9);
  const ModelCheck turned = reference.check({vector(-0.03f, -0.04f), vector(0.06f, 0.08f)});
  EXPECT_NEAR(*turned.cosine_distance, 2, 1e-12);
  const ModelCheck nan = reference.check({vector(0.03f, 0.04f), vector(NAN, 0.08f)});
  EXPECT_FALSE(nan.passed);
  EXPECT_EQ(*nan.cosine_distance, 2);
}

}  // namespace
}  // namespace tapml::topdown
