// Hand-written tensor programs of real width: honest orders pass, lower precision is found, and
// what a platform may do passes with its allowance.
#include <gtest/gtest.h>

#include "accuracy/wide_products.h"
#include "interp/interpreter.h"
#include "text/parser.h"
#include "tir/prim_func.h"

namespace tapml::topdown {
namespace {

// The program's only output, which is its last parameter.
op::RefTensor evaluated(const std::string& text, const std::vector<HostTensor>& inputs,
                        const HostTensor& out, const std::vector<int64_t>& scalars,
                        const Allowances& allowed = {}) {
  const Module module = text::parse("module\nprim def f" + text, "test");
  std::vector<op::RefTensor> params;
  for (const HostTensor& input : inputs) params.push_back(op::RefTensor::from(input));
  params.push_back(op::RefTensor::from(out));
  interp::evaluate_with_bounds(*tir::as_prim_func(module.find("f")), params, scalars, {}, allowed);
  return params.back();
}

op::RefTensor program_reference(const Product& product, const Allowances& allowed = {}) {
  const std::string in = dtype_name(product.in), out = dtype_name(product.out);
  const std::string text =
      "(x: Buffer((1, k), " + in + "), w: Buffer((n, k), " + in + "), out y: Buffer((1, n), " +
      out + R"(), n: i64, k: i64) {
  for j in serial(n) {
    alloc sum: Buffer((1,), f32)
    sum[0] = f32(0.0)
    for i in serial(k) { sum[0] = sum[0] + )" +
      (product.in == kF32 ? "x[0, i] * w[j, i]" : "cast(f32, x[0, i]) * cast(f32, w[j, i])") +
      " }\n    y[0, j] = " + (product.out == kF32 ? "sum[0]" : "cast(" + out + ", sum[0])") +
      "\n  }\n}";
  const auto n = static_cast<int64_t>(product.n), k = static_cast<int64_t>(product.k);
  return evaluated(text,
                   {host_tensor(product.in, {1, k}, product.x),
                    host_tensor(product.in, {n, k}, product.weights)},
                   HostTensor::zeros(product.out, {1, n}), {n, k}, allowed);
}

double gained(const float* x, const float* w, size_t k) { return 1.0001F * lanes<16>(x, w, k); }

struct FaultyProduct {
  const char* name;
  Product::Sum sum;
};
const std::vector<FaultyProduct>& faulty_products() {
  static const std::vector<FaultyProduct> all = {
      {"f16 operands", lowered<f16, f16, same>},
      {"f16 activations", lowered<f16, same, same>},
      {"TF32 operands", lowered<tf32, tf32, same>},
      {"truncated TF32 operands", lowered<cut, cut, same>},
      {"a gain of 1.0001", gained},
      {"f16 products", lowered<same, same, f16>},
  };
  return all;
}

std::string text_of(const Errors& errors) {
  return precision_text(errors.precision) + ", error over bound " +
         std::to_string(errors.max_ratio);
}

TEST(TensorPrograms, ProductsInHonestOrdersPassAndFaultsAreFoundAsInMatmul) {
  uint64_t seed = 6000;
  int found = 0;
  for (const auto& [k, in] :
       {std::pair<size_t, DType>(576, kF32), {4096, kF32}, {28672, kF32}, {4096, kF16}}) {
    for (const Data data : kAllData) {
      const Product product(k, k > 4096 ? 16 : 48, in, in, data, ++seed);
      const op::RefTensor program = program_reference(product), matmul = product.reference();
      const std::string where = description(product, data) + ", ";
      for (const Order& order : kOrders) {
        const Errors errors = measure(product.run(order.sum), program, {});
        EXPECT_TRUE(is_right(errors)) << where << order.name << ": " << text_of(errors);
        EXPECT_EQ(errors.precision.elements, static_cast<int64_t>(product.n)) << where;
      }
      for (const FaultyProduct& fault : faulty_products()) {
        const HostTensor value = product.run(fault.sum);
        if (is_right(measure(value, matmul, {}))) continue;
        ++found;
        const Errors errors = measure(value, program, {});
        EXPECT_FALSE(is_right(errors))
            << where << fault.name << " pass, rms " << errors.precision.rms;
      }
    }
  }
  EXPECT_GE(found, 40);
}

TEST(TensorPrograms, AllowancesLetLowerPrecisionPassAndNothingCoarser) {
  constexpr Allowances kTF32{.precision = OperandPrecision::kTF32};
  constexpr Allowances kF16Operands{.precision = OperandPrecision::kF16};
  constexpr Allowances kHalf{.half_sums = true};
  uint64_t seed = 6100;
  for (const size_t k : {576, 4096}) {
    for (const Data data : {Data::kNormal, Data::kOutliers}) {
      const Product product(k, 48, kF32, kF32, data, ++seed);
      const std::string where = description(product, data);
      const auto passes = [&](const Product::Sum& sum, const Allowances& allowed) {
        return is_right(measure(product.run(sum), program_reference(product, allowed), {}));
      };
      EXPECT_TRUE(passes(lowered<tf32, tf32, same>, kTF32)) << where;
      EXPECT_TRUE(passes(lowered<cut, cut, same>, kTF32)) << where;
      EXPECT_TRUE(passes(lowered<f16, f16, same>, kF16Operands)) << where;
      EXPECT_TRUE(passes(lowered<same, same, f16>, kHalf)) << where;
      // bf16 is within a few times of these; only the shape of its errors, which is not tried for
      // programs, would always tell.
      EXPECT_FALSE(passes(lowered<f8, f8, same>, kTF32)) << where;
      EXPECT_FALSE(passes(lowered<f8, f8, same>, kF16Operands)) << where;
      EXPECT_FALSE(passes(lowered<tf32, tf32, same>, {})) << where;
    }
  }
}

std::vector<float> drawn(size_t count, size_t from, bool positive) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = numbers()[from + i];
    if (positive) values[i] = std::fabs(values[i]);
  }
  return values;
}

TEST(TensorPrograms, SumsInHonestOrdersPassAndFaultsAreFound) {
  const char* const text = R"((x: Buffer((n, k), f32), out y: Buffer((n,), f32), n: i64, k: i64) {
  for j in serial(n) {
    y[j] = f32(0.0)
    for i in serial(k) { y[j] = y[j] + x[j, i] }
  }
})";
  for (const size_t k : {576, 4096, 28672}) {
    for (const bool equal : {false, true}) {
      const size_t n = 32;
      std::vector<float> x = drawn(n * k, k, true);
      if (equal) {
        for (size_t i = 0; i < x.size(); ++i) x[i] = x[i / k * k];
      }
      const auto rows = static_cast<int64_t>(n), columns = static_cast<int64_t>(k);
      const op::RefTensor reference = evaluated(text, {host_tensor(kF32, {rows, columns}, x)},
                                                HostTensor::zeros(kF32, {rows}), {rows, columns});
      const std::vector<float> ones(k, 1);
      const auto run = [&](const Product::Sum& sum) {
        HostTensor y = HostTensor::zeros(kF32, {rows});
        for (size_t j = 0; j < n; ++j) {
          y.set_f64(static_cast<int64_t>(j), sum(x.data() + j * k, ones.data(), k));
        }
        return y;
      };
      for (const Order& order : kOrders) {
        const Errors errors = measure(run(order.sum), reference, {});
        EXPECT_TRUE(is_right(errors)) << k << ", " << order.name << ": " << text_of(errors);
      }
      if (equal) continue;
      EXPECT_FALSE(is_right(measure(run(gained), reference, {}))) << k;
      // Of more terms, the honest rounding of partial sums is larger than that of the terms.
      if (k > 4096) continue;
      EXPECT_FALSE(is_right(measure(run(lowered<f16, same, same>), reference, {}))) << k;
    }
  }
}

// What a row's maximum and sum add is shared by its elements: no accusation of the whole row.
TEST(TensorPrograms, SoftmaxAndNormsInHonestOrdersPassAndFaultsAreFound) {
  const char* const softmax = R"((x: Buffer((n, k), f32), out y: Buffer((n, k), f32),
    n: i64, k: i64) {
  for j in serial(n) {
    alloc m: Buffer((1,), f32)
    alloc s: Buffer((1,), f32)
    m[0] = x[j, 0]
    for i in serial(k) { m[0] = max(m[0], x[j, i]) }
    s[0] = f32(0.0)
    for i in serial(k) { s[0] = s[0] + exp(x[j, i] - m[0]) }
    for i in serial(k) { y[j, i] = exp(x[j, i] - m[0]) / s[0] }
  }
})";
  const char* const norm = R"((x: Buffer((n, k), f32), out y: Buffer((n, k), f32),
    n: i64, k: i64) {
  for j in serial(n) {
    alloc s: Buffer((1,), f32)
    s[0] = f32(0.0)
    for i in serial(k) { s[0] = s[0] + x[j, i] * x[j, i] }
    for i in serial(k) { y[j, i] = x[j, i] * rsqrt(s[0] / cast(f32, k)) }
  }
})";
  for (const size_t k : {576, 4096, 28672}) {
    const size_t n = 4;
    const std::vector<float> x = drawn(n * k, 5 * k, false);
    const auto rows = static_cast<int64_t>(n), columns = static_cast<int64_t>(k);
    for (const bool is_softmax : {true, false}) {
      const op::RefTensor reference =
          evaluated(is_softmax ? softmax : norm, {host_tensor(kF32, {rows, columns}, x)},
                    HostTensor::zeros(kF32, {rows, columns}), {rows, columns});
      const auto run = [&](float (*sum)(const float*, const float*, size_t), auto&& change) {
        HostTensor y = HostTensor::zeros(kF32, {rows, columns});
        std::vector<float> terms(k), factors(k, 1);
        for (size_t j = 0; j < n; ++j) {
          const float* row = x.data() + j * k;
          const float largest = *std::max_element(row, row + k);
          for (size_t i = 0; i < k; ++i) {
            terms[i] = is_softmax ? std::exp(row[i] - largest) : row[i];
            factors[i] = is_softmax ? 1 : row[i];
          }
          const float total = sum(terms.data(), factors.data(), k);
          const float root = 1 / std::sqrt(total / static_cast<float>(k));
          for (size_t i = 0; i < k; ++i) {
            const float value = is_softmax ? terms[i] / total : row[i] * root;
            y.set_f64(static_cast<int64_t>(j * k + i), change(value));
          }
        }
        return y;
      };
      const char* const name = is_softmax ? "softmax" : "norm";
      for (const Order& order : kOrders) {
        const Errors errors = measure(run(order.sum, same), reference, {});
        EXPECT_TRUE(is_right(errors))
            << name << " " << k << ", " << order.name << ": " << text_of(errors);
      }
      EXPECT_FALSE(is_right(measure(run(lanes<16>, f16), reference, {}))) << name << k;
      const auto gain = [](double value) { return 1.0001 * value; };
      EXPECT_FALSE(is_right(measure(run(lanes<16>, gain), reference, {}))) << name << k;
    }
  }
}

TEST(TensorPrograms, ElementwiseProgramsPassAndFaultsAreFound) {
  const char* const text = R"((x: Buffer((n,), f32), w: Buffer((n,), f32),
    out y: Buffer((n,), f32), n: i64) {
  for i in serial(n) { y[i] = x[i] * w[i] + f32(0.3) * x[i] }
})";
  for (const int64_t n : {576, 4096, 28672}) {
    const std::vector<float> x = drawn(static_cast<size_t>(n), 1, false);
    const std::vector<float> w = drawn(static_cast<size_t>(n), 100000, false);
    const op::RefTensor reference =
        evaluated(text, {host_tensor(kF32, {n}, x), host_tensor(kF32, {n}, w)},
                  HostTensor::zeros(kF32, {n}), {n});
    const auto run = [&](auto&& f) {
      HostTensor y = HostTensor::zeros(kF32, {n});
      for (int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<size_t>(i);
        y.set_f64(i, f(x[at], w[at]));
      }
      return y;
    };
    const auto separate = [](float a, float b) {
      const volatile float first = a * b, second = 0.3F * a;
      return first + second;
    };
    const auto contracted = [](float a, float b) { return std::fma(a, b, 0.3F * a); };
    EXPECT_TRUE(is_right(measure(run(separate), reference, {}))) << n;
    EXPECT_TRUE(is_right(measure(run(contracted), reference, {}))) << n;
    const auto low = [](float a, float b) { return std::fma(f16(a), b, 0.3F * a); };
    const auto gain = [&](float a, float b) { return 1.0001F * separate(a, b); };
    EXPECT_FALSE(is_right(measure(run(low), reference, {}))) << n;
    EXPECT_FALSE(is_right(measure(run(gain), reference, {}))) << n;
  }
}

}  // namespace
}  // namespace tapml::topdown
