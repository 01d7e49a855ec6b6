// Sums, means, variances, norms, running sums, sums at indices, pooling, transposed convolutions
// and resizing: honest rounding passes in every order at every width, lower precision is found.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "accuracy/wide_rows.h"

namespace tapml::topdown {
namespace {

// An implementation: the output for the rows, one f32 number for each element.
using Implementation = std::function<std::vector<float>(const Rows& x)>;

struct Named {
  std::string name;
  Implementation run;
};

// An operator of rows, its honest implementations and its faults.
struct Family {
  std::string name;
  std::function<op::RefTensor(const Rows& x)> reference;
  std::vector<Named> honest, faults;
};

HostTensor stored_as(const op::RefTensor& reference, const std::vector<float>& values) {
  HostTensor result = HostTensor::zeros(reference.dtype, reference.shape);
  EXPECT_EQ(static_cast<size_t>(result.size()), values.size());
  for (size_t i = 0; i < values.size(); ++i) result.set_f64(static_cast<int64_t>(i), values[i]);
  return result;
}

// One number for each row.
template <class F>
Implementation by_row(const F& f) {
  return [f](const Rows& x) {
    std::vector<float> result;
    for (size_t row = 0; row < x.rows; ++row) result.push_back(f(x.row(row)));
    return result;
  };
}
// As many numbers as elements.
template <class F>
Implementation along_rows(const F& f) {
  return [f](const Rows& x) {
    std::vector<float> result;
    for (size_t row = 0; row < x.rows; ++row) {
      for (const float value : f(x.row(row))) result.push_back(value);
    }
    return result;
  };
}
Implementation times(float factor, const Implementation& f) {
  return [=](const Rows& x) {
    std::vector<float> result = f(x);
    for (float& value : result) value *= factor;
    return result;
  };
}

op::RefTensor reduced(const char* op, const Rows& x, AttrMap attrs = {}) {
  attrs["axes"] = std::vector<int64_t>{1};
  return op::testing::run_reference(
      op, {x.tensor()}, {op::RefTensor::zeros(x.dtype, {static_cast<int64_t>(x.rows)})}, attrs)[0];
}

Family sums() {
  Family family{"sum", [](const Rows& x) { return reduced("sum", x); }, {}, {}};
  for (const RowOrder& order : kRowOrders) {
    family.honest.push_back({order.name, by_row(order.sum)});
  }
  family.faults = {{"f16 partial sums", by_row(add_in_f16)},
                   {"without its last term", by_row(add_without_last)},
                   {"times 1.0001", times(1.0001F, by_row(add_in_lanes<16>))}};
  return family;
}

float mean_of(Row x, AddRow sum) { return sum(x) / static_cast<float>(x.size()); }

Family means() {
  Family family{"mean", [](const Rows& x) { return reduced("mean", x); }, {}, {}};
  const auto mean = [](AddRow sum) { return by_row([=](Row x) { return mean_of(x, sum); }); };
  for (const RowOrder& order : kRowOrders) family.honest.push_back({order.name, mean(order.sum)});
  family.faults = {{"f16 partial sums", mean(add_in_f16)},
                   {"times 1.0001", times(1.0001F, mean(add_in_lanes<16>))}};
  return family;
}

// In two passes.
float variance_of(Row x, AddRow sum) {
  const float mean = mean_of(x, sum);
  std::vector<float> squares;
  for (const float value : x) squares.push_back((value - mean) * (value - mean));
  return mean_of(squares, sum);
}
// In one pass (Welford).
struct OnePass {
  float mean = 0, squares = 0, count = 0;
  void add(float value) {
    const float before = value - mean;
    mean += before / ++count;
    squares += before * (value - mean);
  }
  void add(const OnePass& other) {
    const float all = count + other.count, apart = other.mean - mean;
    mean += apart * other.count / all;
    squares += other.squares + apart * apart * count * other.count / all;
    count = all;
  }
  float variance() const { return squares / count; }
};
OnePass in_one_pass(Row x) {
  OnePass result;
  for (const float value : x) result.add(value);
  return result;
}
OnePass in_lanes_of_one_pass(Row x) {
  OnePass lanes[16];
  for (size_t i = 0; i < x.size(); ++i) lanes[i % 16].add(x[i]);
  OnePass result = lanes[0];
  for (size_t lane = 1; lane < 16; ++lane) result.add(lanes[lane]);
  return result;
}

Family variances() {
  Family family{"variance", [](const Rows& x) { return reduced("variance", x); }, {}, {}};
  const auto variance = [](AddRow sum) {
    return by_row([=](Row x) { return variance_of(x, sum); });
  };
  for (const RowOrder& order : kRowOrders) {
    family.honest.push_back({order.name, variance(order.sum)});
  }
  family.honest.push_back({"one pass", by_row([](Row x) { return in_one_pass(x).variance(); })});
  family.honest.push_back(
      {"lanes of one pass", by_row([](Row x) { return in_lanes_of_one_pass(x).variance(); })});
  family.faults = {{"f16 partial sums", variance(add_in_f16)},
                   {"times 1.0001", times(1.0001F, variance(add_in_lanes<16>))}};
  return family;
}

constexpr float kEpsilon = 1e-5F;

// Weights and biases of a norm.
Rows parameters(size_t k, DType dtype) { return {2, k, dtype, RowData::kNormal, 77}; }

struct Statistics {
  float mean, variance;
};
template <class F>
Implementation normalized(F statistics, float epsilon = kEpsilon) {
  return [=](const Rows& x) {
    const Rows affine = parameters(x.k, x.dtype);
    return along_rows([&](Row row) {
      const Statistics of = statistics(row);
      const float scale = 1 / std::sqrt(of.variance + epsilon);
      std::vector<float> result;
      for (size_t i = 0; i < row.size(); ++i) {
        result.push_back((row[i] - of.mean) * scale * affine.row(0)[i] + affine.row(1)[i]);
      }
      return result;
    })(x);
  };
}

Family layer_norms() {
  Family family{"layer_norm",
                [](const Rows& x) {
                  const Rows affine = parameters(x.k, x.dtype);
                  const op::RefTensor both = affine.tensor();
                  const auto part = [&](size_t row) {
                    const Row values = affine.row(row);
                    return op::RefTensor::from(host_tensor(
                        x.dtype, {x.columns()}, std::vector<float>(values.begin(), values.end())));
                  };
                  return op::testing::run_reference(
                      "layer_norm", {x.tensor(), part(0), part(1)},
                      {op::RefTensor::zeros(x.dtype, x.tensor().shape)}, {{"epsilon", 1e-5}})[0];
                },
                {},
                {}};
  const auto two_passes = [](AddRow sum) {
    return [=](Row x) { return Statistics{mean_of(x, sum), variance_of(x, sum)}; };
  };
  for (const RowOrder& order : kRowOrders) {
    family.honest.push_back({order.name, normalized(two_passes(order.sum))});
  }
  family.honest.push_back({"one pass", normalized([](Row x) {
                             const OnePass all = in_one_pass(x);
                             return Statistics{all.mean, all.variance()};
                           })});
  const auto honest = normalized(two_passes(add_in_lanes<16>));
  family.faults = {{"f16 partial sums", normalized(two_passes(add_in_f16))},
                   {"times 1.0001", times(1.0001F, honest)},
                   {"activations rounded to f16", [=](const Rows& x) {
                      Rows rounded = x;
                      for (float& value : rounded.values) value = static_cast<float>(f16(value));
                      return honest(rounded);
                    }}};
  return family;
}

std::vector<float> scanned(Row x) {
  std::vector<float> result;
  float sum = 0;
  for (const float value : x) result.push_back(sum += value);
  return result;
}
// Blocks of 128 in sequence, and the sums of the blocks before them.
std::vector<float> scanned_in_blocks(Row x) {
  std::vector<float> result;
  float before = 0;
  for (size_t i = 0; i < x.size(); i += 128) {
    const std::vector<float> block = scanned(x.subspan(i, std::min<size_t>(128, x.size() - i)));
    for (const float value : block) result.push_back(before + value);
    before += block.back();
  }
  return result;
}
// Each step adds the sums that lie twice as far back (Hillis and Steele).
std::vector<float> scanned_by_doubling(Row x) {
  std::vector<float> sums(x.begin(), x.end());
  for (size_t step = 1; step < sums.size(); step *= 2) {
    for (size_t i = sums.size(); i-- > step;) sums[i] += sums[i - step];
  }
  return sums;
}
std::vector<float> scanned_in_f16(Row x) {
  std::vector<float> result;
  double sum = 0;
  for (const float value : x) result.push_back(static_cast<float>(sum = f16(sum + value)));
  return result;
}

Family cumsums() {
  Family family{"cumsum",
                [](const Rows& x) {
                  const op::RefTensor tensor = x.tensor();
                  return op::testing::run_reference("cumsum", {tensor},
                                                    {op::RefTensor::zeros(x.dtype, tensor.shape)},
                                                    {{"axis", int64_t{1}}})[0];
                },
                {},
                {}};
  family.honest = {{"sequential", along_rows(scanned)},
                   {"in blocks", along_rows(scanned_in_blocks)},
                   {"by doubling", along_rows(scanned_by_doubling)}};
  family.faults = {{"f16 partial sums", along_rows(scanned_in_f16)},
                   {"times 1.0001", times(1.0001F, along_rows(scanned_in_blocks))},
                   {"one term left out", [](const Rows& x) {
                      Rows without = x;
                      without.values[x.k / 2] = 0;
                      return along_rows(scanned_in_blocks)(without);
                    }}};
  return family;
}

// Each row is added to one element, which starts as 1, in a given order of all updates.
using Place = size_t (*)(size_t step, size_t k);
Implementation added_at_indices(Place place, float factor = 1) {
  return by_row([=](Row x) {
    float sum = 1;
    for (size_t i = 0; i < x.size(); ++i) sum += x[place(i, x.size())];
    return factor * sum;
  });
}

Family scatters() {
  Family family{"scatter_add",
                [](const Rows& x) {
                  const auto rows = static_cast<int64_t>(x.rows), all = rows * x.columns();
                  HostTensor indices = HostTensor::zeros(DType::kI64, {all});
                  for (int64_t i = 0; i < all; ++i) {
                    indices.mutable_values<int64_t>()[static_cast<size_t>(i)] = i / x.columns();
                  }
                  const std::vector<float> ones(x.rows, 1);
                  return op::testing::run_reference(
                      "scatter_add",
                      {op::RefTensor::from(host_tensor(x.dtype, {rows}, ones)),
                       op::RefTensor::from(indices), x.tensor_of({all})},
                      {op::RefTensor::zeros(x.dtype, {rows})}, {{"axis", int64_t{0}}})[0];
                },
                {},
                {}};
  const Place in_order = [](size_t i, size_t) { return i; };
  family.honest = {
      {"in order", added_at_indices(in_order)},
      {"backwards", added_at_indices([](size_t i, size_t k) { return k - 1 - i; })},
      // 7919 is a prime that no width has.
      {"in an arbitrary order", added_at_indices([](size_t i, size_t k) { return i * 7919 % k; })}};
  family.faults = {{"times 1.0001", added_at_indices(in_order, 1.0001F)},
                   {"without its last term", by_row([](Row x) { return 1 + add_without_last(x); })},
                   {"f16 partial sums", by_row([](Row x) { return 1 + add_in_f16(x); })}};
  return family;
}

Family pools() {
  Family family{"adaptive_avg_pool",
                [](const Rows& x) {
                  const auto rows = static_cast<int64_t>(x.rows);
                  return op::testing::run_reference(
                      "adaptive_avg_pool2d", {x.tensor_of({1, rows, x.columns() / 8, 8})},
                      {op::RefTensor::zeros(x.dtype, {1, rows, 1, 1})}, {}, {{1, 1}})[0];
                },
                {},
                {}};
  const Family of_rows = means();
  family.honest = of_rows.honest;
  family.faults = of_rows.faults;
  return family;
}

float log_of_sum(Row x, AddRow sum) {
  const float peak = *std::ranges::max_element(x);
  std::vector<float> weights;
  for (const float value : x) weights.push_back(std::exp(value - peak));
  return peak + std::log(sum(weights));
}

Family log_sums() {
  Family family{"logsumexp", [](const Rows& x) { return reduced("logsumexp", x); }, {}, {}};
  const auto logarithm = [](AddRow sum) {
    return by_row([=](Row x) { return log_of_sum(x, sum); });
  };
  for (const RowOrder& order : kRowOrders) {
    family.honest.push_back({order.name, logarithm(order.sum)});
  }
  family.faults = {{"f16 partial sums", logarithm(add_in_f16)}};
  return family;
}

// A transposed convolution of one pixel with as many channels as a row has elements: a sum of
// products with a constant.
constexpr float kTap = 0.6875;

Implementation scaled_sum(AddRow sum, float factor = 1) {
  return by_row([=](Row x) {
    std::vector<float> terms;
    for (const float value : x) terms.push_back(value * kTap);
    return factor * sum(terms);
  });
}

Family transposed_convolutions() {
  Family family{"conv1d_transpose",
                [](const Rows& x) {
                  const auto rows = static_cast<int64_t>(x.rows);
                  const std::vector<float> taps(x.k, kTap);
                  return op::testing::run_reference(
                      "conv1d_transpose",
                      {x.tensor_of({rows, x.columns(), 1}),
                       op::RefTensor::from(host_tensor(x.dtype, {x.columns(), 1, 1}, taps))},
                      {op::RefTensor::zeros(x.dtype, {rows, 1, 1})})[0];
                },
                {},
                {}};
  for (const RowOrder& order : kRowOrders) {
    family.honest.push_back({order.name, scaled_sum(order.sum)});
  }
  family.honest.push_back({"fused multiply-adds", by_row([](Row x) {
                             float sum = 0;
                             for (const float value : x) sum = std::fma(value, kTap, sum);
                             return sum;
                           })});
  family.faults = {{"f16 partial sums", scaled_sum(add_in_f16)},
                   {"without its last term", scaled_sum(add_without_last)},
                   {"times 1.0001", scaled_sum(add_in_lanes<16>, 1.0001F)}};
  return family;
}

// Each row is an image of eight lines, which becomes one of three lines of 3/8 of the length.
constexpr int64_t kLines = 8, kNewLines = 3;

// Position `o` of `out` in `in`, where pixels have their centers at halves.
struct Between {
  size_t first, second;
  float weight;
};
Between between(size_t o, size_t in, size_t out) {
  const auto twice = static_cast<int64_t>((2 * o + 1) * in) - static_cast<int64_t>(out);
  const auto numerator = static_cast<size_t>(std::max<int64_t>(0, twice)), denominator = 2 * out;
  const size_t first = numerator / denominator;
  return {first, std::min(first + 1, in - 1),
          static_cast<float>(numerator % denominator) / static_cast<float>(denominator)};
}

using Blend = float (*)(const float corners[4], float wy, float wx);
Implementation resized(Blend blend) {
  return along_rows([=](Row x) {
    const size_t width = x.size() / kLines, new_width = width / 8 * 3;
    std::vector<float> result;
    for (size_t line = 0; line < kNewLines; ++line) {
      const Between y = between(line, kLines, kNewLines);
      for (size_t column = 0; column < new_width; ++column) {
        const Between at = between(column, width, new_width);
        const float corners[] = {x[y.first * width + at.first], x[y.first * width + at.second],
                                 x[y.second * width + at.first], x[y.second * width + at.second]};
        result.push_back(blend(corners, y.weight, at.weight));
      }
    }
    return result;
  });
}

float blend_lines(const float c[4], float wy, float wx) {
  const float top = c[0] * (1 - wx) + c[1] * wx, bottom = c[2] * (1 - wx) + c[3] * wx;
  return top * (1 - wy) + bottom * wy;
}
float blend_by_differences(const float c[4], float wy, float wx) {
  const float top = c[0] + wx * (c[1] - c[0]), bottom = c[2] + wx * (c[3] - c[2]);
  return top + wy * (bottom - top);
}
float blend_by_products(const float c[4], float wy, float wx) {
  return c[0] * ((1 - wy) * (1 - wx)) + c[1] * ((1 - wy) * wx) + c[2] * (wy * (1 - wx)) +
         c[3] * (wy * wx);
}
float blend_columns_fused(const float c[4], float wy, float wx) {
  const float left = std::fma(c[2], wy, c[0] * (1 - wy));
  const float right = std::fma(c[3], wy, c[1] * (1 - wy));
  return std::fma(right, wx, left * (1 - wx));
}
float blend_in_f16(const float c[4], float wy, float wx) {
  const double top = f16(f16(c[0] * (1 - wx)) + f16(c[1] * wx));
  const double bottom = f16(f16(c[2] * (1 - wx)) + f16(c[3] * wx));
  return static_cast<float>(f16(top * (1 - wy)) + f16(bottom * wy));
}

Family resizes() {
  Family family{"resize2d",
                [](const Rows& x) {
                  const auto rows = static_cast<int64_t>(x.rows), width = x.columns() / kLines;
                  return op::testing::run_reference(
                      "resize2d", {x.tensor_of({1, rows, kLines, width})},
                      {op::RefTensor::zeros(x.dtype, {1, rows, kNewLines, width / 8 * 3})},
                      {{"method", std::string("bilinear")}}, {{kNewLines, width / 8 * 3}})[0];
                },
                {},
                {}};
  family.honest = {{"lines first", resized(blend_lines)},
                   {"by differences", resized(blend_by_differences)},
                   {"products of weights", resized(blend_by_products)},
                   {"columns first, fused", resized(blend_columns_fused)}};
  family.faults = {{"times 1.0001", times(1.0001F, resized(blend_lines))},
                   {"in f16", resized(blend_in_f16)},
                   {"weights rounded to f16", resized([](const float c[4], float wy, float wx) {
                      return blend_lines(c, static_cast<float>(f16(wy)),
                                         static_cast<float>(f16(wx)));
                    })}};
  return family;
}

std::vector<Family> families() {
  return {sums(),        means(),    variances(),
          layer_norms(), cumsums(),  scatters(),
          pools(),       log_sums(), transposed_convolutions(),
          resizes()};
}

class Reductions : public ::testing::TestWithParam<size_t> {
 protected:
  Family family_ = families()[GetParam()];
};

constexpr size_t kWidths[] = {64, 576, 4096, 28672};

size_t rows_of(size_t k) { return k > 4096 ? 6 : 24; }

TEST_P(Reductions, EveryHonestOrderPassesAtEveryWidth) {
  uint64_t seed = 0;
  for (const size_t k : kWidths) {
    for (const RowData data : kAllRowData) {
      for (const DType dtype : {kF32, kF16, kBF16}) {
        const Rows x(rows_of(k), k, dtype, data, ++seed);
        const op::RefTensor reference = family_.reference(x);
        for (size_t i = 0; i < reference.bound.size(); ++i) {
          ASSERT_TRUE(std::isfinite(reference.bound[i])) << "any result would pass";
        }
        for (const Named& order : family_.honest) {
          const Errors errors = measure(stored_as(reference, order.run(x)), reference, {});
          EXPECT_TRUE(is_right(errors))
              << family_.name << ", " << order.name << ", K " << k << ", " << name_of(data) << ", "
              << dtype_name(dtype) << ": " << precision_text(errors.precision)
              << ", error over bound " << errors.max_ratio << ", rms " << errors.precision.rms;
          EXPECT_GT(errors.precision.elements, 0) << "no deviation is known";
        }
      }
    }
  }
}

// Whether right sums of these terms may be further off than faulty ones.
bool repeats(RowData data, size_t k) {
  return data == RowData::kConstant || (data == RowData::kFewValues && k > 4096);
}

// Prints the faults that are not found, which docs/verdicts.md lists.
TEST_P(Reductions, LowerPrecisionIsFoundAtEveryWidth) {
  for (const size_t k : kWidths) {
    for (const RowData data : kAllRowData) {
      const Rows x(rows_of(k), k, kF32, data, 7 * k);
      const op::RefTensor reference = family_.reference(x);
      for (const Named& fault : family_.faults) {
        const Errors errors = measure(stored_as(reference, fault.run(x)), reference, {});
        if (is_right(errors) && repeats(data, k)) {
          printf("not found: %s, %s, K %zu, %s: rms %.2g\n", family_.name.c_str(),
                 fault.name.c_str(), k, name_of(data), errors.precision.rms);
          continue;
        }
        EXPECT_FALSE(is_right(errors))
            << family_.name << ", " << fault.name << ", K " << k << ", " << name_of(data)
            << ": error over bound " << errors.max_ratio << ", rms " << errors.precision.rms;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Reductions, ::testing::Range<size_t>(0, families().size()),
                         [](const auto& info) { return families()[info.param].name; });

}  // namespace
}  // namespace tapml::topdown
