// What a platform may do passes with its allowance and only with it; what is coarser is found.
#include "abi/allowances.h"

#include <gtest/gtest.h>

#include "accuracy/wide_products.h"
#include "topdown/reference_run/allowed.h"

namespace tapml::topdown {
namespace {

constexpr Allowances kTF32Allowed{.precision = OperandPrecision::kTF32};
constexpr Allowances kF16Allowed{.precision = OperandPrecision::kF16};
constexpr Allowances kBF16Allowed{.precision = OperandPrecision::kBF16};
constexpr Allowances kHalfSums{.half_sums = true};

double half_sequential(const float* x, const float* w, size_t k) {
  double sum = 0;
  for (size_t i = 0; i < k; ++i) sum = f16(sum + double{x[i]} * w[i]);
  return sum;
}
// As matrix units do: blocks of 8 exact terms are added to 4 sums.
double half_blocked(const float* x, const float* w, size_t k) {
  double sums[4] = {};
  for (size_t i = 0; i < k; i += 8) {
    double block = 0;
    for (size_t j = i; j < std::min(k, i + 8); ++j) block += double{x[j]} * w[j];
    double& sum = sums[i / 8 % 4];
    sum = f16(sum + block);
  }
  return f16(f16(sums[0] + sums[1]) + f16(sums[2] + sums[3]));
}
// Without fused multiply-adds.
double half_terms(const float* x, const float* w, size_t k) {
  double sum = 0;
  for (size_t i = 0; i < k; ++i) sum = f16(sum + f16(double{x[i]} * w[i]));
  return sum;
}
double bf16_sums(const float* x, const float* w, size_t k) {
  double sum = 0;
  for (size_t i = 0; i < k; ++i) sum = bf16(sum + double{x[i]} * w[i]);
  return sum;
}

struct Permitted {
  const char* name;
  Allowances allowances;
  Product::Sum sum;
  const char* coarser_name;
  Product::Sum coarser;
};

const std::vector<Permitted>& permitted() {
  static const std::vector<Permitted> all = {
      {"TF32", kTF32Allowed, lowered<tf32, tf32, same>, "bf16 operands", lowered<bf16, bf16, same>},
      {"TF32 by truncation", kTF32Allowed, lowered<cut, cut, same>, "bf16 activations",
       lowered<bf16, same, same>},
      {"f16 operands", kF16Allowed, lowered<f16, f16, same>, "bf16 weights",
       lowered<same, bf16, same>},
      {"bf16 operands", kBF16Allowed, lowered<bf16, bf16, same>, "f8 operands",
       lowered<f8, f8, same>},
      {"f16 sums in sequence", kHalfSums, half_sequential, "bf16 sums", bf16_sums},
      {"f16 sums in blocks", kHalfSums, half_blocked, "bf16 sums", bf16_sums},
      {"f16 terms and sums", kHalfSums, half_terms, "bf16 sums", bf16_sums},
  };
  return all;
}

// A product under each suspected cause.
std::vector<op::RefTensor> under_causes(const Product& product) {
  std::vector<op::RefTensor> references;
  for (const SuspectedCause& cause : suspected_causes()) {
    references.push_back(product.reference(cause.products));
  }
  return references;
}

// Whether the errors have the shape of a cause that is not allowed, and more of it than of others.
bool has_cause(const HostTensor& value, const op::RefTensor& reference,
               const std::vector<op::RefTensor>& causes, const Allowances& allowances) {
  size_t best = causes.size();
  double explained = 0;
  for (size_t i = 0; i < causes.size(); ++i) {
    const CauseFit fit = fit_cause(value, reference, causes[i]);
    if (!fit.found() || fit.explained <= explained) continue;
    explained = fit.explained;
    best = i;
  }
  return best < causes.size() && !covers(allowances, suspected_causes()[best].products);
}

TEST(Allowances, LetLowerPrecisionPassAndNothingCoarserAtEveryWidth) {
  uint64_t seed = 4000;
  for (size_t k : {64, 576, 4096, 28672}) {
    for (Data data : {Data::kNormal, Data::kOutliers}) {
      const Product product(k, 192, kF32, kF32, data, ++seed);
      const op::RefTensor honest = product.reference();
      const std::vector<op::RefTensor> causes = under_causes(product);
      for (const Permitted& one : permitted()) {
        const std::string where = std::string(one.name) + ", " + description(product, data) + ": ";
        const HostTensor value = product.run(one.sum);
        EXPECT_FALSE(is_right(measure(value, honest, {}))) << where << "without the allowance";
        const op::RefTensor allowed = product.reference({}, one.allowances);
        const Errors errors = measure(value, allowed, {});
        EXPECT_TRUE(is_right(errors)) << where << precision_text(errors.precision)
                                      << ", error over bound " << errors.max_ratio;
        // By size or, as in replays, by shape.
        const HostTensor coarser = product.run(one.coarser);
        EXPECT_FALSE(is_right(measure(coarser, allowed, {})) &&
                     !has_cause(coarser, allowed, causes, one.allowances))
            << where << one.coarser_name << " pass";
        EXPECT_FALSE(has_cause(value, allowed, causes, one.allowances)) << where << "by shape";
        // Values are the same; only the errors are others.
        EXPECT_EQ(allowed.values[0], honest.values[0]);
      }
    }
  }
}

// In sums of one sign, rounding leaves the mean of the terms, and truncation shifts it.
TEST(Allowances, LetSumsOfOneSignPass) {
  uint64_t seed = 4100;
  for (size_t k : {64, 576, 4096, 28672}) {
    const Product product(k, 192, kF32, kF32, Data::kPositive, ++seed);
    for (const Permitted& one : permitted()) {
      // Longer sums lose their small terms, which is no rounding.
      if (one.allowances.half_sums && k > 64) continue;
      const Errors errors =
          measure(product.run(one.sum), product.reference({}, one.allowances), {});
      EXPECT_TRUE(is_right(errors))
          << one.name << ", " << description(product, Data::kPositive) << ": "
          << precision_text(errors.precision) << ", error over bound " << errors.max_ratio;
    }
  }
}

TEST(Allowances, DoNotCoverSumsThatStopGrowing) {
  const Product product(28672, 24, kF32, kF32, Data::kPositive, 4200);
  const HostTensor value = product.run([](const float* x, const float* w, size_t k) {
    // Terms of about 0.5, of which f16 loses half and more from 1,024 on.
    double sum = 0;
    for (size_t i = 0; i < k; ++i) sum = f16(sum + 40 * double{x[i]} * w[i]);
    return sum / 40;
  });
  EXPECT_FALSE(is_right(measure(value, product.reference({}, kHalfSums), {})));
}

// An operand that the format holds is not rounded.
TEST(Allowances, OfOperandsDependOnTheirDType) {
  const Product product(576, 96, kF16, kF32, Data::kNormal, 4300);
  const HostTensor value = product.run(lowered<bf16, bf16, same>);
  EXPECT_FALSE(is_right(measure(value, product.reference({}, kTF32Allowed), {})));
  EXPECT_TRUE(is_right(measure(value, product.reference({}, kBF16Allowed), {})));
  const op::RefTensor honest = product.reference();
  const op::RefTensor f16_allowed = product.reference({}, kF16Allowed);
  const op::RefTensor tf32_allowed = product.reference({}, kTF32Allowed);
  for (size_t i = 0; i < honest.values.size(); ++i) {
    EXPECT_EQ(f16_allowed.bound[i], honest.bound[i]);
    EXPECT_EQ(tf32_allowed.bound[i], honest.bound[i]);
  }
}

// The smallest numbers of f16 have fewer digits; numbers above its largest have none.
TEST(Allowances, OfF16HaveItsRange) {
  Product product(64, 96, kF32, kF32, Data::kNormal, 4400);
  for (float& value : product.x) value *= 1e-6F;
  const HostTensor small = product.run(lowered<f16, f16, same>);
  EXPECT_TRUE(is_right(measure(small, product.reference({}, kF16Allowed), {})));
  EXPECT_FALSE(is_right(measure(small, product.reference({}, kTF32Allowed), {})));
  for (float& value : product.x) value *= 1e12F;
  const HostTensor infinite = product.run(lowered<f16, f16, same>);
  EXPECT_FALSE(is_right(measure(infinite, product.reference({}, kF16Allowed), {})));
}

// x and y as tensors of one dimension, and what a platform computes for each pair.
struct Quotients {
  op::RefTensor x, y;
  op::RefTensor reference(const char* op, const Allowances& allowed) const {
    op::RefTensor out = op::RefTensor::zeros(kF32, x.shape);
    out.allowed = allowed;
    const bool binary = std::string(op) == "divide";
    std::vector<op::RefTensor> args = {x};
    if (binary) args.push_back(y);
    return op::testing::run_reference(op, args, {std::move(out)})[0];
  }
};

// 1,024 numbers, each off by some ULPs of f32 in the same direction.
HostTensor off_by(const op::RefTensor& exact, double ulps) {
  std::vector<float> values;
  for (const double value : exact.values) {
    int exponent = 0;
    std::frexp(value, &exponent);
    values.push_back(static_cast<float>(value + ulps * std::ldexp(0x1p-23, exponent - 1)));
  }
  return HostTensor::from<float>(kF32, exact.shape, values);
}

TEST(Allowances, OfDivisionAreThoseOfOpenCL) {
  constexpr Allowances kRelaxed{.relaxed_division = true};
  std::vector<float> x, y;
  for (size_t i = 0; i < 1024; ++i) {
    x.push_back(std::fabs(numbers()[i]) + 0.1F);
    y.push_back(std::fabs(numbers()[2000 + i]) + 0.1F);
  }
  const HostTensor a = host_tensor(kF32, {1024}, x), b = host_tensor(kF32, {1024}, y);
  const Quotients inputs{op::RefTensor::from(a), op::RefTensor::from(b)};
  for (const char* op : {"divide", "sqrt", "rsqrt"}) {
    const op::RefTensor honest = inputs.reference(op, {});
    const op::RefTensor relaxed = inputs.reference(op, kRelaxed);
    const HostTensor near = off_by(honest, 0), off = off_by(honest, 3);
    EXPECT_TRUE(is_right(measure(near, honest, {}))) << op;
    EXPECT_FALSE(is_right(measure(off, honest, {}))) << op;
    EXPECT_TRUE(is_right(measure(off, relaxed, {}))) << op;
    EXPECT_FALSE(is_right(measure(off_by(honest, 9), relaxed, {}))) << op;
  }
}

TEST(Allowances, CoverCausesOfNoCoarserFormat) {
  using enum op::ProductFormat;
  EXPECT_TRUE(covers(kTF32Allowed, {kTF32Truncated, kTF32Truncated, kExact}));
  EXPECT_TRUE(covers(kTF32Allowed, {kF16, kExact, kExact})) << "the same digits";
  EXPECT_FALSE(covers(kTF32Allowed, {kBF16, kExact, kExact}));
  EXPECT_FALSE(covers(kTF32Allowed, {kF16, kF16, kF16})) << "the products are f32";
  EXPECT_FALSE(covers(kF16Allowed, {kTF32Truncated, kExact, kExact}));
  EXPECT_TRUE(covers(kBF16Allowed, {kBF16, kBF16, kExact}));
  EXPECT_TRUE(covers(kHalfSums, {kExact, kExact, kF16}));
  EXPECT_FALSE(covers({}, {kF16, kExact, kExact}));
}

}  // namespace
}  // namespace tapml::topdown
