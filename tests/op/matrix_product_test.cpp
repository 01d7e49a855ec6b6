// Matrix products of the reference against plain loops, at the borders of blocks and tiles.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <span>

#include "base/host/thread_pool.h"
#include "op/reference/product_sums.h"
#include "run_reference.h"
#include "support/dtypes.h"

namespace tapml::op {
namespace {

using reference::Element;
using reference::Error;
using tapml::testing::kF32;
using testing::run_reference;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

HostTensor random_tensor(DType dtype, Shape shape, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> numbers(0.1, is_float(dtype) ? 1 : 40);
  HostTensor tensor = HostTensor::zeros(dtype, std::move(shape));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double number = numbers(random);
    tensor.set_f64(i, is_float(dtype) ? number : std::round(number));
  }
  return tensor;
}

// Gives every element errors of different sizes.
void add_errors(RefTensor& tensor) {
  const size_t size = tensor.values.size();
  tensor.bound.assign(size, 0);
  tensor.systematic.assign(size, 0);
  tensor.deviation.assign(size, 0);
  for (size_t i = 0; i < size; ++i) {
    tensor.systematic[i] = 1e-7 * static_cast<double>(i % 7);
    tensor.deviation[i] = 1e-7 * static_cast<double>(i % 5);
    tensor.bound[i] = tensor.systematic[i] + 8 * tensor.deviation[i];
  }
}

struct Factor {
  double value;
  Error error;
};

// The sum of the products with its error, term by term. The partial sums of a block of 256 terms
// are estimated from their ends, for a sequential sum and for eight lanes (docs/verdicts.md).
Element plain_sum(const std::vector<Factor>& a, const std::vector<Factor>& b, double unit) {
  double value = 0, squares = 0, sequential = 0, by_lanes = 0, lanes[8] = {};
  Error moved;
  for (size_t first = 0; first < a.size(); first += 256) {
    const size_t end = std::min(a.size(), first + 256);
    const double count = static_cast<double>(end - first), before = value;
    double block = 0, lanes_before[8];
    std::ranges::copy(lanes, lanes_before);
    for (size_t r = first; r < end; ++r) {
      const double x = a[r].value, y = b[r].value;
      const Error &ex = a[r].error, &ey = b[r].error;
      value += x * y;
      lanes[r % 8] += x * y;
      block += x * y * x * y;
      moved.systematic += std::fabs(x) * ey.systematic + std::fabs(y) * ex.systematic +
                          ex.systematic * ey.systematic;
      moved.variance += x * x * ey.variance + y * y * ex.variance + ex.variance * ey.variance;
    }
    const auto between = [](double s, double t) { return (s * s + s * t + t * t) / 3; };
    sequential += count * (between(before, value) + block / 6);
    for (size_t lane = 0; lane < 8; ++lane) {
      by_lanes += count / 8 * between(lanes_before[lane], lanes[lane]);
    }
    by_lanes += count / 8 * block / 6;
    squares += block;
  }
  const double rounding =
      reference::rounding_variance(unit, 1) * (std::max(sequential, by_lanes) + squares);
  return {value, Error::of(moved.systematic, moved.variance + rounding)};
}

// Line `line` of a matrix [lines, k], or [k, lines] if it is not `contiguous`.
std::vector<Factor> line_of(const RefTensor& matrix, size_t base, size_t line, size_t lines,
                            size_t k, bool contiguous) {
  std::vector<Factor> factors;
  for (size_t r = 0; r < k; ++r) {
    const size_t at = base + (contiguous ? line * k + r : r * lines + line);
    factors.push_back({matrix.values[at], reference::error_of(matrix, at)});
  }
  return factors;
}

void expect_near(double found, double expected, double scale, const std::string& what) {
  if (!std::isfinite(expected)) {
    EXPECT_EQ(std::isnan(expected), std::isnan(found)) << what;
    EXPECT_TRUE(std::isnan(expected) || found == expected) << what << ": " << found;
    return;
  }
  EXPECT_NEAR(found, expected, 1e-12 * scale) << what;
}

void expect_element(const RefTensor& out, size_t at, const Element& sum, const std::string& what) {
  const Element expected = reference::stored(out.dtype, sum.value, sum.error);
  const double scale = std::max(1.0, std::fabs(expected.value));
  expect_near(out.values[at], expected.value, 300 * scale, what + " value");
  const double bound = std::isnan(expected.error.bound) ? kInfinity : expected.error.bound;
  expect_near(out.bound[at], bound, 1e3 * std::min(bound, 1e300), what + " bound");
  if (!std::isfinite(bound)) return;
  expect_near(out.systematic[at], expected.error.systematic, 1e3 * expected.error.systematic,
              what + " systematic");
  const double deviation = std::sqrt(expected.error.variance);
  expect_near(out.deviation[at], deviation, 1e3 * deviation, what + " deviation");
}

void expect_same_bits(const RefTensor& a, const RefTensor& b) {
  ASSERT_EQ(a.values.size(), b.values.size());
  const auto same = [](double x, double y) {
    return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y);
  };
  for (size_t i = 0; i < a.values.size(); ++i) {
    EXPECT_TRUE(same(a.values[i], b.values[i]) && same(a.bound[i], b.bound[i]) &&
                same(a.systematic_at(i), b.systematic_at(i)) &&
                same(a.deviation[i], b.deviation[i]))
        << i;
  }
}

// Runs on no pool, one thread and three; all results are the same.
RefTensor run_on_threads(const char* op, const std::vector<RefTensor>& tensors,
                         const RefTensor& out, const AttrMap& attrs = {}) {
  RefTensor alone = run_reference(op, tensors, {out}, attrs)[0];
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    RefTensor shared = out;
    shared.threads = &pool;
    expect_same_bits(run_reference(op, tensors, {shared}, attrs)[0], alone);
  }
  return alone;
}

struct ProductCase {
  int64_t m, n, k;
  DType weights = DType::kBF16;
  bool transpose_a = false, transpose_b = true;
  bool a_errors = true, b_errors = false;
};

void check(const ProductCase& c) {
  const std::string what = std::to_string(c.m) + "x" + std::to_string(c.n) + "x" +
                           std::to_string(c.k) + " " + dtype_name(c.weights) +
                           (c.transpose_a ? " ta" : "") + (c.transpose_b ? " tb" : "");
  const Shape a_shape = c.transpose_a ? Shape{c.k, c.m} : Shape{c.m, c.k};
  const Shape b_shape = c.transpose_b ? Shape{c.n, c.k} : Shape{c.k, c.n};
  RefTensor a = RefTensor::from(random_tensor(kF32, a_shape, 1));
  RefTensor b = RefTensor::from(random_tensor(c.weights, b_shape, 2));
  if (c.a_errors) add_errors(a);
  if (c.b_errors) add_errors(b);
  const RefTensor out =
      run_on_threads("matmul", {a, b}, RefTensor::zeros(kF32, {c.m, c.n}),
                     {{"transpose_a", c.transpose_a}, {"transpose_b", c.transpose_b}});
  const auto m = static_cast<size_t>(c.m), n = static_cast<size_t>(c.n),
             k = static_cast<size_t>(c.k);
  const double unit = std::min(0x1p-24, reference::compute_unit(c.weights));
  for (size_t row = 0; row < m; ++row) {
    for (size_t column = 0; column < n; ++column) {
      if (k > 2000 && column % 5 != 0) continue;
      expect_element(out, row * n + column,
                     plain_sum(line_of(a, 0, row, m, k, !c.transpose_a),
                               line_of(b, 0, column, n, k, c.transpose_b), unit),
                     what + " at " + std::to_string(row) + ", " + std::to_string(column));
    }
  }
}

TEST(MatrixProduct, EqualsAPlainLoopAtTheBordersOfBlocks) {
  for (int64_t k : {1, 7, 8, 9, 255, 256, 257, 512, 1000}) {
    for (int64_t n : {1, 15, 16, 17, 33}) {
      for (int64_t m : {1, 3, 8, 9}) check({.m = m, .n = n, .k = k});
    }
  }
}

TEST(ProductSums, EveryWidthOfRegistersGivesTheSameBits) {
  std::mt19937_64 random(20);
  std::normal_distribution<double> numbers;
  std::vector<double> parts[6];
  for (std::vector<double>& part : parts) {
    for (size_t i = 0; i < 264; ++i) part.push_back(numbers(random));
  }
  for (const bool moved_a : {false, true}) {
    for (const bool moved_b : {false, true}) {
      const reference::FactorBlock a = {parts[0].data(), moved_a ? parts[1].data() : nullptr,
                                        moved_a ? parts[2].data() : nullptr};
      const reference::FactorBlock b = {parts[3].data(), moved_b ? parts[4].data() : nullptr,
                                        moved_b ? parts[5].data() : nullptr};
      const auto in_registers = [&](size_t width) {
        reference::ProductSums sums;
        for (size_t count : {256u, 256u, 136u}) reference::add_block(a, b, count, sums, width);
        return sums;
      };
      const reference::ProductSums narrow = in_registers(2);
      for (size_t width = 4; width <= reference::widest_registers(); width *= 2) {
        const reference::ProductSums wide = in_registers(width);
        EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(&narrow, 1)),
                                       std::as_bytes(std::span(&wide, 1))))
            << width;
      }
    }
  }
}

TEST(MatrixProduct, EqualsAPlainLoopInEveryLayout) {
  for (bool transpose_a : {false, true}) {
    for (bool transpose_b : {false, true}) {
      for (int64_t k : {1, 257, 1000}) {
        for (int64_t m : {1, 9}) {
          for (bool b_errors : {false, true}) {
            check({.m = m,
                   .n = 33,
                   .k = k,
                   .transpose_a = transpose_a,
                   .transpose_b = transpose_b,
                   .a_errors = m == 1 || b_errors,
                   .b_errors = b_errors});
          }
        }
      }
    }
  }
}

TEST(MatrixProduct, EqualsAPlainLoopForEveryDTypeOfWeights) {
  for (DType dtype : {DType::kF64, kF32, DType::kF16, DType::kBF16, DType::kI8, DType::kU8}) {
    for (bool transpose_b : {false, true}) {
      check({.m = 2, .n = 17, .k = 300, .weights = dtype, .transpose_b = transpose_b});
    }
  }
}

TEST(MatrixProduct, EqualsAPlainLoopForLongSums) {
  for (int64_t k : {4096, 11008, 28672}) {
    check({.m = 1, .n = 17, .k = k});
    check({.m = 9, .n = 17, .k = k, .a_errors = false});
  }
}

// The estimate of the partial sums is on average near their exact squares.
TEST(MatrixProduct, EstimatesTheRoundingsOfLongSums) {
  for (int64_t k : {256, 1000, 4096, 28672}) {
    const size_t columns = 200;
    const RefTensor a = RefTensor::from(random_tensor(kF32, {1, k}, 3)),
                    b = RefTensor::from(random_tensor(kF32, {columns, k}, 4));
    const RefTensor out = run_reference("matmul", {a, b}, {RefTensor::zeros(kF32, {1, columns})},
                                        {{"transpose_b", true}})[0];
    double found = 0, expected = 0;
    for (size_t column = 0; column < columns; ++column) {
      reference::SumRounding exact;
      for (size_t r = 0; r < static_cast<size_t>(k); ++r) {
        exact.add(a.values[r] * b.values[column * static_cast<size_t>(k) + r]);
      }
      expected += reference::stored(kF32, out.values[column], Error::of(0, exact.variance(0x1p-24)))
                      .error.variance;
      found += out.deviation[column] * out.deviation[column];
    }
    EXPECT_NEAR(found / expected, 1, 0.08) << k;
  }
}

TEST(MatrixProduct, EndlessElementsReachOnlyTheirOwnSums) {
  const double nan = std::nan("");
  const int64_t k = 300, n = 20;
  HostTensor x = random_tensor(kF32, {3, k}, 5), w = random_tensor(kF32, {n, k}, 6);
  x.set_f64(0 * k + 10, 0);
  x.set_f64(1 * k + 299, kInfinity);
  w.set_f64(3 * k + 10, kInfinity);  // zero times infinity in row 0
  w.set_f64(5 * k + 260, nan);
  w.set_f64(17 * k + 299, 0);  // infinity times zero in row 1
  RefTensor a = RefTensor::from(x), b = RefTensor::from(w);
  for (bool errors : {false, true}) {
    if (errors) add_errors(a);
    const RefTensor out =
        run_on_threads("matmul", {a, b}, RefTensor::zeros(kF32, {3, n}), {{"transpose_b", true}});
    for (size_t row = 0; row < 3; ++row) {
      for (size_t column = 0; column < n; ++column) {
        Element sum =
            plain_sum(line_of(a, 0, row, 3, k, true), line_of(b, 0, column, n, k, true), 0x1p-24);
        // Of exact operands, a NaN or an infinity is certain.
        if (!errors && !std::isfinite(sum.value)) sum.error = {};
        expect_element(out, row * n + column, sum,
                       std::to_string(row) + ", " + std::to_string(column));
      }
    }
    EXPECT_TRUE(std::isnan(out.values[3]) && std::isnan(out.values[5]));
    EXPECT_TRUE(std::isnan(out.values[n + 17]));
    EXPECT_EQ(out.values[2 * n + 3], std::copysign(kInfinity, x.at_f64(2 * k + 10)));
    EXPECT_TRUE(std::isfinite(out.values[4]) && std::isfinite(out.bound[4]));
  }
}

TEST(MatrixProduct, BatchesBroadcast) {
  const RefTensor a = RefTensor::from(random_tensor(kF32, {2, 1, 9, 300}, 7)),
                  b = RefTensor::from(random_tensor(DType::kF16, {3, 300, 17}, 8));
  const RefTensor out = run_on_threads("matmul", {a, b}, RefTensor::zeros(kF32, {2, 3, 9, 17}));
  for (size_t p = 0; p < 6; ++p) {
    for (size_t row = 0; row < 9; ++row) {
      for (size_t column = 0; column < 17; ++column) {
        expect_element(out, (p * 9 + row) * 17 + column,
                       plain_sum(line_of(a, p / 3 * 2700, row, 9, 300, true),
                                 line_of(b, p % 3 * 5100, column, 17, 300, false), 0x1p-24),
                       std::to_string(p));
      }
    }
  }
}

TEST(MatrixProduct, AWantedElementHasTheSameBitsAlone) {
  RefTensor a = RefTensor::from(random_tensor(kF32, {9, 600}, 9));
  add_errors(a);
  const RefTensor b = RefTensor::from(random_tensor(DType::kBF16, {600, 40}, 10));
  const RefTensor all = run_reference("matmul", {a, b}, {RefTensor::zeros(kF32, {9, 40})})[0];
  RefTensor some = RefTensor::zeros(kF32, {9, 40});
  some.wanted.assign(360, 0);
  for (size_t at : {0u, 39u, 44u, 120u, 121u, 200u, 359u}) some.wanted[at] = 1;
  const std::vector<uint8_t> wanted = some.wanted;
  some = run_on_threads("matmul", {a, b}, some);
  for (size_t i = 0; i < 360; ++i) {
    EXPECT_EQ(some.values[i], wanted[i] ? all.values[i] : 0);
    EXPECT_EQ(some.bound[i], wanted[i] ? all.bound[i] : 0);
  }
}

TEST(MatrixProduct, OperandsAreRoundedForACause) {
  const RefTensor a = RefTensor::from(random_tensor(kF32, {2, 300}, 11)),
                  b = RefTensor::from(random_tensor(kF32, {17, 300}, 12));
  RefTensor out = RefTensor::zeros(kF32, {2, 17});
  out.products.first = ProductFormat::kF16;
  out = run_on_threads("matmul", {a, b}, out, {{"transpose_b", true}});
  for (size_t at = 0; at < 34; ++at) {
    double sum = 0;
    for (size_t r = 0; r < 300; ++r) {
      sum +=
          rounded(ProductFormat::kF16, a.values[at / 17 * 300 + r]) * b.values[at % 17 * 300 + r];
    }
    EXPECT_NEAR(out.values[at], sum, 1e-10);
  }
}

// What a target may do besides honest rounding.
TEST(MatrixProduct, AllowancesWidenTheErrors) {
  const RefTensor a = RefTensor::from(random_tensor(kF32, {2, 1000}, 21)),
                  b = RefTensor::from(random_tensor(kF32, {17, 1000}, 22));
  for (const OperandPrecision precision :
       {OperandPrecision::kF32, OperandPrecision::kTF32, OperandPrecision::kF16}) {
    for (const bool half_sums : {false, true}) {
      RefTensor out = RefTensor::zeros(kF32, {2, 17});
      out.allowed.precision = precision;
      out.allowed.half_sums = half_sums;
      const reference::ProductPolicy policy(a, b, out, false);
      out = run_on_threads("matmul", {a, b}, out, {{"transpose_b", true}});
      for (size_t at = 0; at < 34; ++at) {
        const auto x = line_of(a, 0, at / 17, 2, 1000, true),
                   y = line_of(b, 0, at % 17, 17, 1000, true);
        Element sum = plain_sum(x, y, policy.unit);
        double squares = 0, floor = half_sums ? 2 * 1000 * reference::kHalfFloor : 0;
        for (size_t r = 0; r < 1000; ++r) {
          const double term = x[r].value * y[r].value;
          squares += term * term;
          floor += policy.floor(x[r].value, y[r].value);
        }
        sum.error = Error::of(policy.systematic(sum.value),
                              sum.error.variance + policy.operands(squares) + floor);
        expect_element(out, at, sum, std::to_string(at));
      }
    }
  }
}

TEST(MatrixProduct, IntegersWrapOnAnyNumberOfThreads) {
  const RefTensor a = RefTensor::from(random_tensor(DType::kI8, {9, 300}, 13)),
                  b = RefTensor::from(random_tensor(DType::kI8, {300, 33}, 14));
  const RefTensor out = run_on_threads("matmul", {a, b}, RefTensor::zeros(DType::kI32, {9, 33}));
  for (size_t at = 0; at < out.values.size(); ++at) {
    int64_t sum = 0;
    for (size_t r = 0; r < 300; ++r) {
      sum += a.integer(at / 33 * 300 + r) * b.integer(r * 33 + at % 33);
    }
    EXPECT_EQ(out.integer(at), sum);
  }
}

TEST(MatrixProduct, LinearAddsTheBiasAndItsError) {
  RefTensor x = RefTensor::from(random_tensor(kF32, {2, 9, 300}, 15));
  RefTensor w = RefTensor::from(random_tensor(DType::kBF16, {17, 300}, 16));
  RefTensor bias = RefTensor::from(random_tensor(kF32, {17}, 17));
  add_errors(x);
  add_errors(bias);
  const RefTensor out = run_on_threads("linear", {x, w, bias}, RefTensor::zeros(kF32, {2, 9, 17}));
  for (size_t at = 0; at < out.values.size(); ++at) {
    Element sum = plain_sum(line_of(x, 0, at / 17, 18, 300, true),
                            line_of(w, 0, at % 17, 17, 300, true), 0x1p-24);
    const Error moved = reference::error_of(bias, at % 17);
    sum.value += bias.values[at % 17];
    sum.error = Error::of(
        sum.error.systematic + moved.systematic,
        sum.error.variance + moved.variance + reference::rounding_variance(0x1p-24, sum.value));
    expect_element(out, at, sum, std::to_string(at));
  }
}

TEST(MatrixProduct, GatheredMatricesAndThoseOutside) {
  const RefTensor x = RefTensor::from(random_tensor(kF32, {3, 300}, 18)),
                  w = RefTensor::from(random_tensor(DType::kBF16, {4, 100, 300}, 19));
  RefTensor indices =
      RefTensor::from(HostTensor::from<int32_t>(DType::kI32, {3}, std::vector<int32_t>{2, 9, -1}));
  indices.bound = {0, 0, 1};
  const RefTensor out =
      run_on_threads("gather_matmul", {x, w, indices}, RefTensor::zeros(kF32, {3, 100}));
  for (size_t column = 0; column < 100; ++column) {
    expect_element(out, column,
                   plain_sum(line_of(x, 0, 0, 3, 300, true),
                             line_of(w, 2 * 30000, column, 100, 300, true), 0x1p-24),
                   "chosen");
    EXPECT_EQ(out.values[100 + column], 0);
    EXPECT_EQ(out.bound[200 + column], kInfinity);
  }
}

}  // namespace
}  // namespace tapml::op
