// Honest and lowered products of real width, for tests of accuracy.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "op/run_reference.h"
#include "support/dtypes.h"
#include "topdown/reference_run/compare.h"

namespace tapml::topdown {

using op::ProductFormat;
using tapml::testing::kBF16;
using tapml::testing::kF16;
using tapml::testing::kF32;

enum class Data { kNormal, kOutliers, kPositive };
constexpr Data kAllData[] = {Data::kNormal, Data::kOutliers, Data::kPositive};
inline const char* name_of(Data data) {
  return data == Data::kNormal ? "normal" : data == Data::kOutliers ? "outliers" : "positive";
}

// Normal numbers, made once: a product starts at a random one of them.
inline const std::vector<float>& numbers() {
  static const std::vector<float> all = [] {
    std::mt19937_64 random(7);
    std::normal_distribution<float> normal;
    std::vector<float> values(1 << 22);
    for (float& value : values) value = normal(random);
    return values;
  }();
  return all;
}

inline double round_to(DType dtype, double value) {
  if (dtype == kF16) return op::rounded(ProductFormat::kF16, value);
  if (dtype == kBF16) return op::rounded(ProductFormat::kBF16, value);
  return static_cast<float>(value);
}

inline HostTensor host_tensor(DType dtype, Shape shape, const std::vector<float>& values) {
  if (dtype == kF32) return HostTensor::from<float>(dtype, std::move(shape), values);
  std::vector<uint16_t> bits(values.size());
  std::ranges::transform(values, bits.begin(), dtype == kF16 ? f32_to_f16 : f32_to_bf16);
  return HostTensor::from<uint16_t>(dtype, std::move(shape), bits);
}

// x [1, k] times weights [n, k], transposed.
struct Product {
  size_t k, n;
  DType in, out;
  std::vector<float> x, weights;

  Product(size_t k, size_t n, DType in, DType out, Data data, uint64_t seed)
      : k(k), n(n), in(in), out(out), x(k), weights(k * n) {
    std::mt19937_64 random(seed);
    const std::vector<float>& all = numbers();
    const auto drawn = [&](std::vector<float>& to, float scale) {
      size_t at = random() % all.size();
      for (float& value : to) {
        value = scale * all[at++ % all.size()];
        if (data == Data::kPositive) value = std::fabs(value);
        value = static_cast<float>(round_to(in, value));
      }
    };
    drawn(x, 1);
    drawn(weights, 0.02F);
    if (data != Data::kOutliers) return;
    for (size_t i = 0; i < 1 + k / 500; ++i) {
      float& value = x[random() % k];
      value = static_cast<float>(round_to(in, 100 * value));
    }
  }

  op::RefTensor reference(const op::ProductRounding& products = {},
                          const Allowances& allowed = {}) const {
    const auto rows = static_cast<int64_t>(n), columns = static_cast<int64_t>(k);
    op::RefTensor result = op::RefTensor::zeros(out, {1, rows});
    result.products = products;
    result.allowed = allowed;
    return op::testing::run_reference(
        "matmul",
        {op::RefTensor::from(host_tensor(in, {1, columns}, x)),
         op::RefTensor::from(host_tensor(in, {rows, columns}, weights))},
        {std::move(result)}, {{"transpose_b", true}})[0];
  }

  // Each output as a function of the row of x, a row of weights and their length.
  using Sum = std::function<double(const float* x, const float* w, size_t k)>;
  HostTensor run(const Sum& sum) const {
    HostTensor result = HostTensor::zeros(out, {1, static_cast<int64_t>(n)});
    for (size_t i = 0; i < n; ++i) {
      result.set_f64(static_cast<int64_t>(i), sum(x.data(), weights.data() + i * k, k));
    }
    return result;
  }
};

inline float sequential(const float* x, const float* w, size_t k) {
  float sum = 0;
  for (size_t i = 0; i < k; ++i) {
    const volatile float term = x[i] * w[i];  // not contracted
    sum += term;
  }
  return sum;
}
inline float fused(const float* x, const float* w, size_t k) {
  float sum = 0;
  for (size_t i = 0; i < k; ++i) sum = std::fma(x[i], w[i], sum);
  return sum;
}
template <size_t kLanes>
float lanes(const float* x, const float* w, size_t k) {
  float sums[kLanes] = {};
  for (size_t i = 0; i < k; ++i) sums[i % kLanes] = std::fma(x[i], w[i], sums[i % kLanes]);
  float sum = 0;
  for (float lane : sums) sum += lane;
  return sum;
}
inline float pairwise(const float* x, const float* w, size_t k) {
  if (k == 1) return x[0] * w[0];
  return pairwise(x, w, k / 2) + pairwise(x + k / 2, w + k / 2, k - k / 2);
}
inline float split(const float* x, const float* w, size_t k) {
  float sum = 0;
  const size_t part = (k + 7) / 8;
  for (size_t i = 0; i < k; i += part) sum += fused(x + i, w + i, std::min(part, k - i));
  return sum;
}

struct Order {
  const char* name;
  float (*sum)(const float*, const float*, size_t);
};
constexpr Order kOrders[] = {{"sequential", sequential}, {"fused", fused}, {"16 lanes", lanes<16>},
                             {"3 lanes", lanes<3>},      {"split", split}, {"pairwise", pairwise}};

inline std::string description(const Product& product, Data data) {
  return "K " + std::to_string(product.k) + ", " + name_of(data) + ", " + dtype_name(product.in) +
         " to " + dtype_name(product.out);
}

inline double f16(double value) { return op::rounded(ProductFormat::kF16, value); }
inline double bf16(double value) { return op::rounded(ProductFormat::kBF16, value); }
inline double tf32(double value) { return op::rounded(ProductFormat::kTF32, value); }
inline double cut(double value) { return op::rounded(ProductFormat::kTF32Truncated, value); }

// 3 bits after the point, as in the e4m3 format of f8, with any exponent.
inline double f8(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const double spacing = std::ldexp(0x1p-3, exponent - 1);
  return std::nearbyint(value / spacing) * spacing;
}

// A product in f32 by 16 lanes, of operands and terms that pass through functions.
template <double (*kX)(double), double (*kW)(double), double (*kTerm)(double)>
double lowered(const float* x, const float* w, size_t k) {
  float sums[16] = {};
  for (size_t i = 0; i < k; ++i) {
    sums[i % 16] +=
        static_cast<float>(kTerm(static_cast<float>(kX(x[i])) * static_cast<float>(kW(w[i]))));
  }
  float sum = 0;
  for (float lane : sums) sum += lane;
  return sum;
}
inline double same(double value) { return value; }

}  // namespace tapml::topdown
