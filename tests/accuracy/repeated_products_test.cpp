// Products whose terms repeat, such as those of constant activations and weights of few values:
// equal terms have equal roundings, so that honest sums are further off than those of different
// terms.
#include <gtest/gtest.h>

#include "accuracy/wide_products.h"
#include "op/reference/helpers.h"
#include "op/reference/product_repetition.h"

namespace tapml::topdown {
namespace {

using op::reference::LineSample;
using op::reference::ProductRepetition;

// Sets the values to random ones of `distinct` positive ones.
void repeat_values(std::vector<float>& values, DType dtype, size_t distinct, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> few(distinct);
  for (float& value : few) {
    const float drawn = numbers()[random() % numbers().size()];
    value = static_cast<float>(round_to(dtype, 0.05 + 0.05 * std::fabs(drawn)));
  }
  for (float& value : values) value = few[random() % distinct];
}

Product repeated_product(size_t k, size_t n, DType in, DType out, size_t of_x, size_t of_weights,
                         uint64_t seed) {
  Product product(k, n, in, out, Data::kPositive, seed);
  repeat_values(product.x, in, of_x, seed + 1);
  repeat_values(product.weights, in, of_weights, seed + 2);
  return product;
}

// Bound of an element for terms that differ, by the rule of sums.
double bound_of_different_terms(const Product& product, size_t row) {
  op::reference::SumRounding rounding;
  for (size_t i = 0; i < product.k; ++i) {
    rounding.add(double{product.x[i]} * product.weights[row * product.k + i]);
  }
  return op::kTails * std::sqrt(rounding.variance(0x1p-24));
}

TEST(RepeatedProducts, EveryHonestOrderPasses) {
  uint64_t seed = 0;
  int beyond_without = 0;
  for (const size_t k : {64, 576, 4096, 28672}) {
    for (const auto& [of_x, of_weights] :
         {std::pair<size_t, size_t>(1, 1), {1, 4}, {1, 16}, {1, 128}, {2, 16}, {16, 16}, {16, 1}}) {
      for (const auto& [in, out] : {std::pair(kF32, kF32), {kF16, kF32}, {kBF16, kBF16}}) {
        const size_t n = k > 4096 ? 12 : 48;
        const Product product = repeated_product(k, n, in, out, of_x, of_weights, ++seed);
        const op::RefTensor reference = product.reference();
        for (const Order& order : kOrders) {
          const HostTensor value = product.run(order.sum);
          const Errors errors = measure(value, reference, {});
          ASSERT_TRUE(is_right(errors))
              << order.name << ", K " << k << ", " << of_x << " times " << of_weights
              << " different values, " << dtype_name(in) << ": " << precision_text(errors.precision)
              << ", error over bound " << errors.max_ratio;
          for (size_t i = 0; out == kF32 && i < n; ++i) {
            const double error =
                std::fabs(value.at_f64(static_cast<int64_t>(i)) - reference.values[i]);
            if (error > bound_of_different_terms(product, i)) ++beyond_without;
          }
        }
      }
    }
  }
  EXPECT_GT(beyond_without, 50) << "as different terms, honest sums would be accused";
}

// Weights of four bits whose groups have one scale, as those of a constant matrix.
TEST(RepeatedProducts, QuantizedWeightsTimesAConstantRowPass) {
  const int64_t k = 4096, n = 48, group = 32;
  std::mt19937_64 random(3);
  HostTensor packed = HostTensor::zeros(DType::kU8, {n, k / 2});
  for (int64_t i = 0; i < packed.size(); ++i) {
    packed.set_f64(i, static_cast<double>(0x99 + (random() % 2) * 0x11));  // levels 1 and 2
  }
  HostTensor scales = HostTensor::zeros(kF32, {n, k / group});
  for (int64_t i = 0; i < scales.size(); ++i) scales.set_f64(i, 0.0137F);
  const op::RefTensor weights = op::testing::run_reference(
      "dequantize", {op::RefTensor::from(packed), op::RefTensor::from(scales)},
      {op::RefTensor::zeros(kF32, {n, k})}, {{"group", group}})[0];
  Product product(static_cast<size_t>(k), static_cast<size_t>(n), kF32, kF32, Data::kPositive, 1);
  product.x.assign(product.k, 0.731F);
  for (size_t i = 0; i < product.weights.size(); ++i) {
    product.weights[i] = static_cast<float>(weights.values[i]);
  }
  const op::RefTensor reference = op::testing::run_reference(
      "matmul", {op::RefTensor::from(host_tensor(kF32, {1, k}, product.x)), weights},
      {op::RefTensor::zeros(kF32, {1, n})}, {{"transpose_b", true}})[0];
  bool beyond_without = false;
  for (const Order& order : kOrders) {
    const HostTensor value = product.run(order.sum);
    const Errors errors = measure(value, reference, {});
    EXPECT_TRUE(is_right(errors)) << order.name << ": " << precision_text(errors.precision)
                                  << ", error over bound " << errors.max_ratio;
    for (size_t i = 0; i < product.n; ++i) {
      const double error = std::fabs(value.at_f64(static_cast<int64_t>(i)) - reference.values[i]);
      beyond_without |= error > bound_of_different_terms(product, i);
    }
  }
  EXPECT_TRUE(beyond_without);
}

TEST(RepeatedProducts, FaultsAreStillFound) {
  for (const size_t k : {576, 4096}) {
    const Product product = repeated_product(k, 48, kF32, kF32, 1, 128, k);
    const op::RefTensor reference = product.reference();
    const auto is_found = [&](const Product::Sum& sum) {
      return !is_right(measure(product.run(sum), reference, {}));
    };
    EXPECT_TRUE(is_found([](const float* x, const float* w, size_t count) {
      return 1.001F * lanes<16>(x, w, count);
    }));
    EXPECT_TRUE(is_found([](const float* x, const float* w, size_t count) {
      double sum = 0;
      for (size_t i = 0; i < count; ++i) sum = f16(sum + double{x[i]} * w[i]);
      return sum;
    }));
    EXPECT_TRUE(is_found(
        [](const float* x, const float* w, size_t count) { return lanes<16>(x, w, count - 1); }));
  }
}

LineSample sample_of(const ProductRepetition& repetition, const std::vector<float>& line) {
  LineSample sample = {};
  // In blocks, as products are evaluated.
  for (size_t first = 0; first < line.size(); first += 256) {
    const ProductRepetition::Places places =
        repetition.places(first, std::min<size_t>(256, line.size() - first));
    for (size_t i = 0; i < places.count; ++i) {
      sample.values[places.at + i] = line[places.begin[i]];
    }
  }
  return sample;
}

double factor_of(const std::vector<float>& row, const std::vector<float>& column) {
  const ProductRepetition repetition(row.size());
  const LineSample a = sample_of(repetition, row), b = sample_of(repetition, column);
  return repetition.factor(a, repetition.share_of_row(a), b, repetition.share_of_column(b));
}

TEST(RepeatedProducts, EstimatesTheMeanNumberOfEqualTerms) {
  for (const size_t k : {1, 2, 63, 64, 65, 577, 4096, 28672}) {
    std::vector<float> one(k, 0.3F), different(k), halves(k), few(k);
    for (size_t i = 0; i < k; ++i) different[i] = 1 + static_cast<float>(i);
    for (size_t i = 0; i < k; ++i) halves[i] = i % 2 == 0 ? 0 : 0.3F;
    EXPECT_DOUBLE_EQ(factor_of(one, one), static_cast<double>(k));
    EXPECT_EQ(factor_of(one, different), 1);
    EXPECT_EQ(factor_of(different, one), 1);
    if (k < 577) continue;
    // Zeros are added without rounding.
    EXPECT_NEAR(factor_of(halves, one) / static_cast<double>(k), 0.5, 0.2);
    repeat_values(few, kF32, 16, k);
    EXPECT_NEAR(factor_of(one, few) / static_cast<double>(k), 1.0 / 16, 0.04);
    // Values that depend on each other, which shares alone would not show.
    EXPECT_NEAR(factor_of(few, few) / static_cast<double>(k), 1.0 / 16, 0.04);
  }
}

}  // namespace
}  // namespace tapml::topdown
