// Rows of real width, and the honest ways to add them, for tests of accuracy.
#pragma once

#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "accuracy/wide_products.h"

namespace tapml::topdown {

using Row = std::span<const float>;

enum class RowData { kNormal, kOutliers, kPositive, kOffset, kConstant, kFewValues };
constexpr RowData kAllRowData[] = {RowData::kNormal, RowData::kOutliers, RowData::kPositive,
                                   RowData::kOffset, RowData::kConstant, RowData::kFewValues};
inline const char* name_of(RowData data) {
  switch (data) {
    case RowData::kNormal:
      return "normal";
    case RowData::kOutliers:
      return "outliers";
    case RowData::kPositive:
      return "positive";
    case RowData::kOffset:
      return "around 1";
    case RowData::kConstant:
      return "constant";
    case RowData::kFewValues:
      return "16 values";
  }
  return "";
}

// `rows` rows of k numbers of the dtype.
struct Rows {
  size_t rows, k;
  DType dtype;
  std::vector<float> values;

  Rows(size_t rows, size_t k, DType dtype, RowData data, uint64_t seed)
      : rows(rows), k(k), dtype(dtype), values(rows * k) {
    std::mt19937_64 random(seed);
    const std::vector<float>& all = numbers();
    size_t at = random() % all.size();
    const auto drawn = [&] { return all[at++ % all.size()]; };
    for (size_t row = 0; row < rows; ++row) {
      std::vector<float> few(data == RowData::kConstant ? 1 : 16);
      // Their sums stay within the range of f16.
      for (float& value : few) value = std::fabs(drawn()) / 4;
      for (size_t i = 0; i < k; ++i) {
        float value = drawn();
        if (data == RowData::kPositive) value = std::fabs(value);
        if (data == RowData::kOffset) value = 1 + value / 10;
        if (data == RowData::kConstant || data == RowData::kFewValues) {
          value = few[random() % few.size()];
        }
        if (data == RowData::kOutliers && random() % 500 == 0) value *= 100;
        values[row * k + i] = static_cast<float>(round_to(dtype, value));
      }
    }
  }

  Row row(size_t at) const { return Row(values).subspan(at * k, k); }
  op::RefTensor tensor() const { return tensor_of({static_cast<int64_t>(rows), columns()}); }
  op::RefTensor tensor_of(Shape shape) const {
    return op::RefTensor::from(host_tensor(dtype, std::move(shape), values));
  }
  int64_t columns() const { return static_cast<int64_t>(k); }
};

// Sums in f32.
inline float add_in_sequence(Row x) {
  float sum = 0;
  for (const float value : x) sum += value;
  return sum;
}
template <size_t kLanes>
float add_in_lanes(Row x) {
  float sums[kLanes] = {};
  for (size_t i = 0; i < x.size(); ++i) sums[i % kLanes] += x[i];
  return add_in_sequence(sums);
}
inline float add_pairwise(Row x) {
  if (x.size() <= 1) return x.empty() ? 0 : x[0];
  const size_t half = x.size() / 2;
  return add_pairwise(x.first(half)) + add_pairwise(x.subspan(half));
}
inline float add_in_parts(Row x) {
  float sum = 0;
  const size_t part = (x.size() + 7) / 8;
  for (size_t i = 0; i < x.size(); i += part) {
    sum += add_in_sequence(x.subspan(i, std::min(part, x.size() - i)));
  }
  return sum;
}
// Lower precision: every partial sum of 16 lanes is rounded to f16.
inline float add_in_f16(Row x) {
  double sums[16] = {}, sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sums[i % 16] = f16(sums[i % 16] + x[i]);
  for (const double lane : sums) sum = f16(sum + lane);
  return static_cast<float>(sum);
}
inline float add_without_last(Row x) { return add_in_lanes<16>(x.first(x.size() - 1)); }

using AddRow = float (*)(Row);
struct RowOrder {
  const char* name;
  AddRow sum;
};
constexpr RowOrder kRowOrders[] = {{"sequential", add_in_sequence},
                                   {"16 lanes", add_in_lanes<16>},
                                   {"3 lanes", add_in_lanes<3>},
                                   {"in parts", add_in_parts},
                                   {"pairwise", add_pairwise}};

}  // namespace tapml::topdown
