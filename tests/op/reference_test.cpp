// References against values computed by hand or with NumPy.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/exceptions.h"
#include "run_reference.h"
#include "support/dtypes.h"
#include "support/expect_error.h"

namespace tapml::op {
namespace {

using tapml::testing::kF16;
using tapml::testing::kF32;
using tapml::testing::kI32;
using testing::run_reference;
constexpr double kUnitF32 = 0x1p-24;
using Ints = std::vector<int64_t>;

RefTensor tensor(Shape shape, std::vector<double> values, double bound = 0, DType dtype = kF32) {
  RefTensor tensor = RefTensor::zeros(dtype, std::move(shape));
  EXPECT_EQ(tensor.values.size(), values.size());
  tensor.values = std::move(values);
  tensor.bound.assign(tensor.values.size(), bound);
  return tensor;
}

RefTensor run(const char* op, const std::vector<RefTensor>& tensors, RefTensor out,
              const AttrMap& attrs = {}, const std::vector<Ints>& ints = {}) {
  return run_reference(op, tensors, {std::move(out)}, attrs, ints)[0];
}

RefTensor run_unary(const char* op, std::vector<double> values, double bound = 0) {
  Shape shape = {static_cast<int64_t>(values.size())};
  return run(op, {tensor(shape, std::move(values), bound)}, RefTensor::zeros(kF32, shape));
}

void expect_values(const RefTensor& found, const std::vector<double>& expected,
                   double tolerance = 1e-12) {
  ASSERT_EQ(found.values.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(found.values[i], expected[i], tolerance) << i;
  }
}

TEST(Reference, Unary) {
  expect_values(run_unary("negative", {1.5, -2, 0}), {-1.5, 2, 0});
  expect_values(run_unary("exp", {0, 1, -1}), {1, 2.718281828459045, 0.36787944117144233});
  expect_values(run_unary("expm1", {0, 1, 1e-9}), {0, 1.718281828459045, 1.0000000005e-9});
  expect_values(run_unary("softplus", {0, 40, -40}),
                {0.6931471805599453, 40, 4.248354255291589e-18});
  expect_values(run_unary("sqrt", {4, 2}), {2, 1.4142135623730951});
  expect_values(run_unary("rsqrt", {4, 0.25}), {0.5, 2});
  expect_values(run_unary("sigmoid", {0, 2, -2}), {0.5, 0.8807970779778823, 0.11920292202211755});
  expect_values(run_unary("silu", {0, 2, -2}), {0, 1.7615941559557646, -0.2384058440442351});
  expect_values(run_unary("tanh", {0.5}), {0.46211715726000973});
  expect_values(run_unary("sin", {1}), {0.8414709848078965});
  expect_values(run_unary("cos", {1}), {0.5403023058681398});
}

TEST(Reference, RoundingBounds) {
  RefTensor y = run_unary("exp", {1});
  EXPECT_NEAR(y.bound[0], (8 + 2) * kUnitF32 * std::exp(1), 1e-12);
  // The result of negative is exact, so its bound is the input's.
  EXPECT_EQ(run_unary("negative", {3}, 0.25).bound[0], 0.25);
  // |exp(x + e) - exp(x)| for a wide input.
  EXPECT_NEAR(run_unary("exp", {0}, 1).bound[0], std::exp(1) - 1, 1e-5);
  EXPECT_EQ(run_unary("rsqrt", {0.5}, 0.5).bound[0], INFINITY);
  EXPECT_NEAR(run_unary("silu", {30}, 0.1).bound[0], 0.1025, 1e-4);
}

TEST(Reference, OverflowIsInfiniteOrOpen) {
  RefTensor y = run_unary("exp", {88, 89, 88.72283905206835});
  EXPECT_TRUE(std::isfinite(y.values[0]) && std::isfinite(y.bound[0]));
  EXPECT_EQ(y.values[1], INFINITY);
  EXPECT_EQ(y.bound[1], 0);
  EXPECT_EQ(y.bound[2], INFINITY);
  RefTensor h = run("cast", {tensor({3}, {65504, 65520, 1e6})}, RefTensor::zeros(kF16, {3}));
  EXPECT_EQ(h.values, (std::vector<double>{65504, INFINITY, INFINITY}));
  EXPECT_TRUE(std::isfinite(h.bound[0]));
  h = run("cast", {tensor({1}, {65500}, 100)}, RefTensor::zeros(kF16, {1}));
  EXPECT_EQ(h.bound[0], INFINITY);
}

TEST(Reference, BinaryBroadcastsAndPropagates) {
  RefTensor a = tensor({2, 1}, {1, 2}, 0.5), b = tensor({3}, {10, 20, 30}, 0.25);
  RefTensor sum = run("add", {a, b}, RefTensor::zeros(kF32, {2, 3}));
  expect_values(sum, {11, 21, 31, 12, 22, 32});
  EXPECT_NEAR(sum.bound[0], 0.75, 1e-5);
  RefTensor product = run("multiply", {a, b}, RefTensor::zeros(kF32, {2, 3}));
  expect_values(product, {10, 20, 30, 20, 40, 60});
  EXPECT_NEAR(product.bound[0], 1 * 0.25 + 10 * 0.5 + 0.125, 1e-5);
  RefTensor quotient = run("divide", {b, a}, RefTensor::zeros(kF32, {2, 3}));
  expect_values(quotient, {10, 20, 30, 5, 10, 15});
  EXPECT_NEAR(quotient.bound[0], 10.25 / 0.5 - 10, 1e-4);
  RefTensor unsure = tensor({1}, {0.2}, 0.5);
  EXPECT_EQ(run("divide", {b, unsure}, RefTensor::zeros(kF32, {3})).bound[0], INFINITY);
  expect_values(run("maximum", {a, b}, RefTensor::zeros(kF32, {2, 3})), {10, 20, 30, 10, 20, 30});
}

TEST(Reference, ComparisonsAreUncertainWhereBoundsOverlap) {
  RefTensor a = tensor({3}, {1, 1.1, 2}, 0.1), b = tensor({3}, {1, 1, 1}, 0.1);
  RefTensor y = run("greater", {a, b}, RefTensor::zeros(DType::kBool, {3}));
  expect_values(y, {0, 1, 1});
  EXPECT_EQ(y.bound, (std::vector<double>{1, 1, 0}));
  RefTensor x = tensor({3}, {5, 6, 7}), z = tensor({3}, {1, 1, 1});
  RefTensor chosen = run("where", {y, x, z}, RefTensor::zeros(kF32, {3}));
  expect_values(chosen, {1, 6, 7});
  EXPECT_EQ(chosen.bound, (std::vector<double>{4, 5, 0}));
}

TEST(Reference, Matmul) {
  RefTensor a = tensor({2, 3}, {1, 2, 3, 4, 5, 6}), b = tensor({3, 2}, {1, -1, 0, 2, 5, 3});
  RefTensor y = run("matmul", {a, b}, RefTensor::zeros(kF32, {2, 2}));
  expect_values(y, {16, 12, 34, 24});
  // The partial sums of element (0, 1) are -1, 3 and 12, its terms -1, 4 and 9. The reference
  // estimates the partial sums.
  const double deviation = kUnitF32 * std::sqrt((1 + 9 + 144 + 1 + 16 + 81) / 3.0);
  EXPECT_NEAR(y.bound[1], 8 * deviation + 2 * kUnitF32 * 12, 0.8 * deviation);
  EXPECT_NEAR(y.deviation[1], std::hypot(deviation, kUnitF32 * 16 / std::sqrt(12)),
              0.1 * deviation);
  EXPECT_EQ(y.systematic[1], 0);
  RefTensor bt = tensor({2, 3}, {1, 0, 5, -1, 2, 3});
  expect_values(run("matmul", {a, bt}, RefTensor::zeros(kF32, {2, 2}), {{"transpose_b", true}}),
                {16, 12, 34, 24});
  RefTensor wide = tensor({2, 3}, {1, 2, 3, 4, 5, 6}, 0.5);
  RefTensor moved = run("matmul", {wide, b}, RefTensor::zeros(kF32, {2, 2}));
  EXPECT_NEAR(moved.bound[0], 0.5 * (1 + 0 + 5), 1e-4);
  // Batches: [2, 1, 2] x [2, 2, 1].
  RefTensor p = tensor({2, 1, 2}, {1, 2, 3, 4}), q = tensor({2, 2, 1}, {5, 6, 7, 8});
  expect_values(run("matmul", {p, q}, RefTensor::zeros(kF32, {2, 1, 1})), {17, 53});
}

TEST(Reference, Reductions) {
  RefTensor x = tensor({2, 3}, {1, 2, 3, -4, 5, 6}, 0.5);
  RefTensor total = run("sum", {x}, RefTensor::zeros(kF32, {2}), {{"axes", Ints{1}}});
  expect_values(total, {6, 7});
  EXPECT_NEAR(total.bound[0], 1.5, 1e-4);
  expect_values(run("sum", {x}, RefTensor::zeros(kF32, {}), {{"axes", Ints{}}}), {13});
  expect_values(run("mean", {x}, RefTensor::zeros(kF32, {1, 3}), {{"axes", Ints{-2}}}),
                {-1.5, 3.5, 4.5});
  RefTensor most = run("max", {x}, RefTensor::zeros(kF32, {2}), {{"axes", Ints{1}}});
  expect_values(most, {3, 6});
  EXPECT_EQ(most.bound, (std::vector<double>{0.5, 0.5}));
}

TEST(Reference, ArgmaxIsTieAware) {
  auto argmax = [](std::vector<double> values, double bound) {
    Shape shape = {static_cast<int64_t>(values.size())};
    return run("argmax", {tensor(shape, std::move(values), bound)}, RefTensor::zeros(kI32, {}));
  };
  EXPECT_EQ(argmax({1, 3, 3, 2}, 0).values[0], 1);
  EXPECT_EQ(argmax({1, 3, 3, 2}, 0).bound[0], 0);
  EXPECT_EQ(argmax({1, 3, 2.9, 2}, 0.1).bound[0], 1);
  EXPECT_EQ(argmax({2.9, 1, 1, 3, 1}, 0.1).bound[0], 3);
  EXPECT_EQ(argmax({1, 3, 2, 2}, 0.1).bound[0], 0);
}

TEST(Reference, RmsNormAndSoftmax) {
  RefTensor x = tensor({1, 2}, {3, 4}), weight = tensor({2}, {1, 2});
  RefTensor y = run("rms_norm", {x, weight}, RefTensor::zeros(kF32, {1, 2}), {{"epsilon", 0.5}});
  expect_values(y, {3 / std::sqrt(13), 8 / std::sqrt(13)});
  EXPECT_LT(y.bound[1], 1e-5);
  RefTensor p = run("softmax", {tensor({3}, {1, 2, 3})}, RefTensor::zeros(kF32, {3}));
  expect_values(p, {0.09003057317038046, 0.24472847105479767, 0.6652409557748219});
  // A common error of 0.1 may become a difference of 0.2 at most.
  RefTensor q = run("softmax", {tensor({2}, {0, 0}, 0.1)}, RefTensor::zeros(kF32, {2}));
  EXPECT_NEAR(q.bound[0], 0.5 * (std::exp(0.2) - 1), 1e-5);
}

// The square of 1e22 overflows f32, so that a kernel's root is of infinity and its result the bias;
// f64 does not overflow, and neither do numbers whose squares fit.
TEST(Reference, NormsWhoseSquaresOverflowAreOpen) {
  for (const double size : {1e22, 1e17}) {
    RefTensor x = tensor({1, 4}, {size, -size, size / 2, 0}), one = tensor({4}, {1, 1, 1, 1});
    const RefTensor layer = run("layer_norm", {x, one, one}, RefTensor::zeros(kF32, {1, 4}));
    const RefTensor rms = run("rms_norm", {x, one}, RefTensor::zeros(kF32, {1, 4}));
    for (const RefTensor* y : {&layer, &rms}) {
      for (size_t i = 0; i < 4; ++i) EXPECT_EQ(std::isinf(y->bound[i]), size > 1e18) << size;
    }
  }
}

TEST(Reference, Movement) {
  RefTensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6}, 0.5);
  RefTensor turned = run("permute", {x}, RefTensor::zeros(kF32, {3, 2}), {{"axes", Ints{1, 0}}});
  expect_values(turned, {1, 4, 2, 5, 3, 6});
  EXPECT_EQ(turned.bound[0], 0.5);
  expect_values(run("concat", {x, tensor({2, 1}, {7, 8})}, RefTensor::zeros(kF32, {2, 4}),
                    {{"axis", int64_t{1}}}),
                {1, 2, 3, 7, 4, 5, 6, 8});
  AttrMap columns = {{"axes", Ints{1}}, {"strides", Ints{2}}};
  expect_values(run("slice", {x}, RefTensor::zeros(kF32, {2, 2}), columns, {{0}, {3}}),
                {1, 3, 4, 6});
  EXPECT_THROW(run("slice", {x}, RefTensor::zeros(kF32, {2, 2}), columns, {{0}, {4}}),
               CompilerException);
  RefTensor indices = tensor({2}, {1, 1}, 0, kI32);
  expect_values(run("take", {x, indices}, RefTensor::zeros(kF32, {2, 3})), {4, 5, 6, 4, 5, 6});
  // From the end, and out of bounds.
  RefTensor outside = tensor({3}, {-1, 2, -3}, 0, kI32);
  expect_values(run("take", {x, outside}, RefTensor::zeros(kF32, {3, 3})),
                {4, 5, 6, 0, 0, 0, 0, 0, 0});
}

// Half-split pairs: (x0, x2) and (x1, x3); position 2 rotates them by 2 and by 0.2 radians.
TEST(Reference, Rope) {
  RefTensor x = tensor({1, 1, 1, 4}, {1, 2, 3, 4});
  RefTensor y = run("rope", {x, tensor({1}, {2}, 0, kI32), tensor({2}, {1, 0.1})},
                    RefTensor::zeros(kF32, {1, 1, 1, 4}));
  expect_values(y, {std::cos(2) - 3 * std::sin(2), 2 * std::cos(0.2) - 4 * std::sin(0.2),
                    3 * std::cos(2) + std::sin(2), 4 * std::cos(0.2) + 2 * std::sin(0.2)});
  EXPECT_LT(y.bound[0], 1e-5);
}

// Frequencies of each text.
TEST(Reference, RopeOfTexts) {
  RefTensor x = tensor({2, 1, 1, 2}, {1, 2, 3, 4});
  RefTensor y = run("rope", {x, tensor({2}, {2, 5}, 0, kI32), tensor({2, 1}, {1, 0.1})},
                    RefTensor::zeros(kF32, {2, 1, 1, 2}));
  expect_values(y, {std::cos(2) - 2 * std::sin(2), 2 * std::cos(2) + std::sin(2),
                    3 * std::cos(0.5) - 4 * std::sin(0.5), 4 * std::cos(0.5) + 3 * std::sin(0.5)});
}

TEST(Reference, KvAppendWritesThroughThePageTable) {
  RefTensor pool = RefTensor::zeros(kF32, {3, 2, 1, 1});
  RefTensor fresh = tensor({1, 2, 1, 1}, {7, 8});
  RefTensor table = tensor({1, 2}, {2, 0}, 0, kI32), lengths = tensor({1}, {1}, 0, kI32);
  // Position 1 is row 1 of page 2, position 2 is row 0 of page 0.
  expect_values(run("kv_append", {pool, fresh, table, lengths}, pool), {8, 0, 0, 0, 0, 7});
  RefTensor full = tensor({1}, {3}, 0, kI32);
  EXPECT_THROW(run("kv_append", {pool, fresh, table, full}, pool), CompilerException);
}

// Two queries over positions {0, 1} and {0, 1, 2}; both heads share one key-value head.
TEST(Reference, PagedAttention) {
  RefTensor q = tensor({1, 2, 2, 1}, {1, 2, 0, -1});
  RefTensor keys = tensor({2, 2, 1, 1}, {3, 99, 1, 2}),
            values = tensor({2, 2, 1, 1}, {30, 9, 10, 20});
  RefTensor table = tensor({1, 2}, {1, 0}, 0, kI32), lengths = tensor({1}, {1}, 0, kI32);
  RefTensor y = run("paged_attention", {q, keys, values, table, lengths},
                    RefTensor::zeros(kF32, {1, 2, 2, 1}), {{"scale", 0.5}});
  auto mix = [](double factor, int count) {
    double sum = 0, total = 0;
    for (int t = 1; t <= count; ++t) {
      sum += std::exp(factor * t) * 10 * t;
      total += std::exp(factor * t);
    }
    return sum / total;
  };
  expect_values(y, {mix(0.5, 2), mix(1, 2), mix(0, 3), mix(-0.5, 3)}, 1e-9);
  // The first token sees the second one, which sees nothing after the call.
  const auto ahead = [&](double first, double second) {
    return run("paged_attention_ahead",
               {q, keys, values, table, lengths, tensor({1, 2}, {first, second}, 0, kI32)},
               RefTensor::zeros(kF32, {1, 2, 2, 1}), {{"scale", 0.5}});
  };
  expect_values(ahead(1, 5), {mix(0.5, 3), mix(1, 3), mix(0, 3), mix(-0.5, 3)}, 1e-9);
  const auto causal = y.values;
  expect_values(ahead(0, 0), {causal.begin(), causal.end()});
  tapml::testing::expect_user_error([&] { ahead(-1, 0); },
                                    {"paged_attention_ahead", "at least 0", "-1"});
}

// For elements of 1e17 and more, the logarithm of the sum vanishes: only the difference remains.
TEST(LogSoftmax, LargeElementsKeepTheSumAndATightBound) {
  const double third = -std::log(3.0);
  RefTensor y = run("log_softmax", {tensor({3}, {1e17, 1e17, 1e17})}, RefTensor::zeros(kF32, {3}));
  expect_values(y, {third, third, third});
  for (size_t i = 0; i < 3; ++i) EXPECT_LT(y.bound[i], 64 * kUnitF32);
  y = run("log_softmax", {tensor({2}, {-3e38, 3e38})}, RefTensor::zeros(kF32, {2}));
  EXPECT_TRUE(std::isinf(y.values[0]) && y.values[0] < 0) << y.values[0];
  EXPECT_EQ(y.values[1], 0);
  y = run("log_softmax", {tensor({2}, {1000, 1001})}, RefTensor::zeros(kF32, {2}));
  for (size_t i = 0; i < 2; ++i) EXPECT_LT(y.bound[i], 64 * kUnitF32) << "of any size";
}

TEST(Remainders, AreExactHoweverLargeTheQuotient) {
  const std::vector<double> a = {0x1p100, -0x1.fffffep127, 1e30f, 5.5},
                            b = {3, 0x1.000002p-120, -7e-5f, -2};
  std::vector<double> mods, floors;
  for (size_t i = 0; i < a.size(); ++i) {
    mods.push_back(std::fmod(a[i], b[i]));
    floors.push_back(mods[i] != 0 && (mods[i] < 0) != (b[i] < 0) ? mods[i] + b[i] : mods[i]);
  }
  RefTensor y = run("mod", {tensor({4}, a), tensor({4}, b)}, RefTensor::zeros(kF32, {4}));
  expect_values(y, mods, 0);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_LE(y.bound[i], 0x1p-120 + 4 * kUnitF32);
  y = run("floor_mod", {tensor({4}, a), tensor({4}, b)}, RefTensor::zeros(kF32, {4}));
  expect_values(y, floors, 0);
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_LE(y.bound[i], std::fabs(b[i]) * 8 * kUnitF32 + 2e-38);
}

// One standard deviation does not reach the multiple of the divisor that the whole error does.
TEST(Remainders, JumpsAreNoRandomError) {
  RefTensor x = tensor({1}, {0.9375}, 0.25);
  x.systematic.assign(1, 0);
  x.deviation.assign(1, 0.03125);
  const RefTensor y = run("mod", {x, tensor({1}, {1})}, RefTensor::zeros(kF32, {1}));
  EXPECT_GE(y.bound[0], 0.9375);
  EXPECT_GE(y.systematic_at(0), 0.9375);
  const RefTensor mean = run("mean", {y}, RefTensor::zeros(kF32, {}));
  EXPECT_GE(mean.bound[0], 0.9375);
}

TEST(RunningProducts, AnInfinitePartTimesZeroIsOpen) {
  const RefTensor x = tensor({4}, {1e30, 1e30, 0, 2});
  EXPECT_TRUE(std::isinf(run("prod", {x}, RefTensor::zeros(kF32, {})).bound[0]));
  const AttrMap along{{"axis", int64_t{0}}};
  const RefTensor y = run("cumprod", {x}, RefTensor::zeros(kF32, {4}), along);
  EXPECT_EQ(y.values[0], 1e30);
  EXPECT_LT(y.bound[0], 1e25);
  for (size_t i = 1; i < 4; ++i)
    EXPECT_TRUE(std::isinf(y.bound[i]) || std::isinf(y.values[i])) << i;
  EXPECT_TRUE(std::isinf(y.bound[3]));
  // Small factors lose nothing where one of them is 0.
  EXPECT_LT(run("prod", {tensor({3}, {1e-30, 1e-30, 0})}, RefTensor::zeros(kF32, {})).bound[0],
            2e-38);
}

TEST(PartialSums, ASumWithPartsBeyondTheLargestNumberIsOpen) {
  const RefTensor a = tensor({1, 3}, {3e38, 3e38, -3e38}), ones = tensor({3, 1}, {1, 1, 1});
  EXPECT_TRUE(std::isinf(run("matmul", {a, ones}, RefTensor::zeros(kF32, {1, 1})).bound[0]));
  const RefTensor less = tensor({1, 3}, {3e37, 3e37, -3e37});
  EXPECT_LT(run("matmul", {less, ones}, RefTensor::zeros(kF32, {1, 1})).bound[0], 1e33);
}

TEST(UncertainIntegers, TheLargestOfUncertainIntegersIsUncertain) {
  RefTensor x = tensor({1, 1, 4}, {3, 13, 2, 1}, 0, DType::kI32);
  x.bound.set(1, 10);
  const AttrMap attrs{{"output_size", std::vector<int64_t>{2}}};
  const RefTensor y =
      run("adaptive_max_pool1d", {x}, RefTensor::zeros(DType::kI32, {1, 1, 2}), attrs);
  EXPECT_EQ(y.values[0], 13);
  EXPECT_EQ(y.bound[0], 10);
  EXPECT_EQ(y.bound[1], 0);
}

}  // namespace
}  // namespace tapml::op
