#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "base/strings.h"
#include "frontend/quantized/coded_matrix.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

constexpr int64_t kTile = 64;  // rows that are read at once
// Longer groups are divided: products on cpu work on whole groups in the cache.
constexpr int64_t kMostGroup = 256;
// Fewer elements with a scale take more memory than elements of 16 bits.
constexpr int64_t kLeastGroup = 8;
constexpr int kMiddleNibble = 8, kMiddleByte = 128;

// A matrix with its place in the files and its layout.
struct Placed {
  CodedMatrix matrix;
  std::string name, file;
  std::optional<models::WeightLayout> layout;

  int zero(int64_t row, int64_t group) const {
    return matrix.zero ? matrix.zero(row, group) : 1 << (matrix.bits - 1);
  }
  float scale(int64_t row, int64_t group) const {
    const float scale = matrix.scale(row, group);
    if (!std::isfinite(scale)) refuse_number("a scale", row, group);
    return scale;
  }
  float minimum(int64_t row, int64_t group) const {
    const float minimum = matrix.minimum(row, group);
    if (!std::isfinite(minimum)) refuse_number("a minimum", row, group);
    return minimum;
  }
  [[noreturn]] void refuse_number(const std::string& what, int64_t row, int64_t group) const {
    throw_user(
        "weight " + in_quotes(name) + " has " + what + " that is not finite", file, "finite scales",
        "an infinity or a NaN in row " + std::to_string(row) + ", group " + std::to_string(group));
  }
  [[noreturn]] void refuse_code(int64_t row, int64_t column) const {
    throw_user(
        "weight " + in_quotes(name) + " has an element that is not finite", file, "finite elements",
        "an infinity or a NaN at [" + std::to_string(row) + ", " + std::to_string(column) + "]");
  }

  // Calls visit(row, codes) for each row.
  void for_each_row(const auto& visit) const {
    const int64_t rows = matrix.rows(), columns = matrix.columns();
    std::vector<uint8_t> codes(static_cast<size_t>(std::min(rows, kTile) * columns));
    for (int64_t first = 0; first < rows; first += kTile) {
      const int64_t count = std::min(kTile, rows - first);
      matrix.codes(first, count, codes.data());
      for (int64_t row = 0; row < count; ++row) {
        const uint8_t* own = codes.data() + row * columns;
        if (!matrix.values.empty()) check_codes(first + row, own);
        visit(first + row, own);
      }
    }
  }
  void check_codes(int64_t row, const uint8_t* codes) const {
    for (int64_t column = 0; column < matrix.columns(); ++column) {
      if (std::isnan(matrix.values[codes[column]])) refuse_code(row, column);
    }
  }
};

// The zeros that occur.
struct Zeros {
  int least = 0, most = 0;
};
Zeros zeros_of(const CodedMatrix& matrix) {
  const int middle = 1 << (matrix.bits - 1);
  if (!matrix.zero) return {middle, middle};
  const int64_t rows = matrix.rows(), groups = (matrix.columns() + matrix.group - 1) / matrix.group;
  if (rows * groups == 0) return {middle, middle};
  Zeros zeros{matrix.zero(0, 0), matrix.zero(0, 0)};
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t group = 0; group < groups; ++group) {
      const int zero = matrix.zero(row, group);
      zeros = {std::min(zeros.least, zero), std::max(zeros.most, zero)};
    }
  }
  return zeros;
}

// Whether the minimums of bytes, which are stored minus 128, are exact.
bool has_exact_minimums(const CodedMatrix& matrix) {
  const int64_t rows = matrix.rows(), groups = (matrix.columns() + matrix.group - 1) / matrix.group;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t group = 0; group < groups; ++group) {
      const double sum = static_cast<double>(matrix.minimum(row, group)) +
                         kMiddleByte * static_cast<double>(matrix.scale(row, group));
      if (static_cast<double>(static_cast<float>(sum)) != sum) return false;
    }
  }
  return true;
}

// Columns that share a scale and are part of one stored group.
int64_t group_of(const CodedMatrix& matrix) {
  const int64_t group = std::gcd(matrix.columns(), matrix.group);
  int64_t divided = group;
  while (divided > kMostGroup && divided % 2 == 0) divided /= 2;
  return divided > kMostGroup ? group : divided;
}

std::optional<models::WeightLayout> layout_of(const CodedMatrix& matrix) {
  models::WeightLayout layout{.bits = matrix.bits <= 4 ? 4 : 8,
                              .group = group_of(matrix),
                              .scales = matrix.scales,
                              .has_order = !matrix.order.empty()};
  const bool is_even = layout.bits == 8 || matrix.columns() % 2 == 0;
  if (!is_even || (layout.group < kLeastGroup && layout.group != matrix.group)) return std::nullopt;
  if (!matrix.format.empty()) {
    layout.format = matrix.format;
    return layout;
  }
  if (!matrix.values.empty()) {
    if (layout.is_whole()) return std::nullopt;
    layout.values = matrix.values;
    return layout;
  }
  if (matrix.minimum) {
    layout.has_minimums = true;
    if (layout.bits == 4) return layout;
    layout.scales = DType::kF32;
    return has_exact_minimums(matrix) ? std::optional(layout) : std::nullopt;
  }
  const Zeros zeros = zeros_of(matrix);
  const int largest = (1 << matrix.bits) - 1;
  const auto fits = [&](int bits) {
    const int half = 1 << (bits - 1);
    return -zeros.most >= -half && largest - zeros.least < half;
  };
  if (fits(static_cast<int>(layout.bits))) return layout;
  // A product of a zero and a scale of 16 bits is exact in f32, and so is the sum.
  if (matrix.scales != DType::kF32) {
    layout.scales = DType::kF32;
    layout.has_minimums = true;
    return layout;
  }
  layout.bits = 8;
  return fits(8) ? std::optional(layout) : std::nullopt;
}

// Writes levels, scales and minimums row by row.
class Packer {
 public:
  Packer(const Placed& placed, QuantizedWeight& weight)
      : placed_(placed),
        matrix_(placed.matrix),
        layout_(*placed.layout),
        weight_(weight),
        packed_(weight.packed.mutable_bytes().data()) {}

  void add(int64_t row, const uint8_t* codes) {
    const int64_t group = layout_.group;
    for (int64_t first = 0; first < matrix_.columns(); first += group) {
      const int shift = add_group(row, first / matrix_.group);
      if (layout_.is_whole()) {
        for (int64_t i = 0; i < group; ++i) put(codes[first + i] + shift);
      } else {
        for (int64_t i = 0; i < group; ++i) put_nibble(codes[first + i] + shift);
      }
    }
  }

 private:
  // Adds scale and minimum; returns what is added to the group's codes.
  int add_group(int64_t row, int64_t group) {
    const float scale = placed_.scale(row, group);
    put(weight_.scales, scale);
    int shift = 0;
    if (matrix_.minimum) {
      shift = layout_.is_whole() ? -kMiddleByte : 0;
      const double minimum = placed_.minimum(row, group) - static_cast<double>(shift) * scale;
      put(*weight_.minimums, static_cast<float>(minimum));
    } else if (layout_.has_minimums) {
      shift = layout_.is_whole() ? -kMiddleByte : 0;
      put(*weight_.minimums, static_cast<float>(-placed_.zero(row, group) - shift) * scale);
    } else if (matrix_.values.empty()) {
      shift = (layout_.is_whole() ? 0 : kMiddleNibble) - placed_.zero(row, group);
    }
    ++group_;
    return shift;
  }

  void put(int level) { *packed_++ = static_cast<std::byte>(level); }
  void put_nibble(int level) {
    if (is_high_) {
      *packed_++ |= static_cast<std::byte>(level << 4);
    } else {
      *packed_ = static_cast<std::byte>(level);
    }
    is_high_ = !is_high_;
  }
  void put(HostTensor& tensor, float value) const {
    switch (tensor.dtype()) {
      case DType::kF16:
        tensor.mutable_values<uint16_t>()[group_] = f32_to_f16(value);
        break;
      case DType::kBF16:
        tensor.mutable_values<uint16_t>()[group_] = f32_to_bf16(value);
        break;
      default:
        tensor.mutable_values<float>()[group_] = value;
    }
  }

  const Placed& placed_;
  const CodedMatrix& matrix_;
  const models::WeightLayout& layout_;
  QuantizedWeight& weight_;
  std::byte* packed_;
  size_t group_ = 0;
  bool is_high_ = false;
};

QuantizedWeight packed(const Placed& placed) {
  const models::WeightLayout& layout = *placed.layout;
  Shape levels = placed.matrix.shape, groups = levels;
  if (!layout.is_whole()) levels.back() /= 2;
  groups.back() /= layout.group;
  QuantizedWeight weight{.packed = HostTensor::zeros(layout.packed(), std::move(levels)),
                         .scales = HostTensor::zeros(layout.scales, groups)};
  if (layout.has_minimums) weight.minimums = HostTensor::zeros(layout.scales, groups);
  if (layout.has_order) {
    const std::vector<int32_t>& order = placed.matrix.order;
    weight.order = HostTensor::from(DType::kI32, {std::ssize(order)}, std::span(order));
  }
  Packer packer(placed, weight);
  placed.for_each_row([&](int64_t row, const uint8_t* codes) { packer.add(row, codes); });
  return weight;
}

HostTensor expanded(const Placed& placed) {
  const CodedMatrix& matrix = placed.matrix;
  HostTensor result = HostTensor::zeros(DType::kF32, matrix.shape);
  const int64_t columns = matrix.columns();
  float* to = result.mutable_values<float>().data();
  placed.for_each_row([&](int64_t row, const uint8_t* codes) {
    for (int64_t first = 0; first < columns; first += matrix.group) {
      const int64_t group = first / matrix.group, end = std::min(columns, first + matrix.group);
      const float scale = placed.scale(row, group);
      const float minimum = matrix.minimum ? placed.minimum(row, group) : 0;
      const int zero = matrix.minimum || !matrix.values.empty() ? 0 : placed.zero(row, group);
      for (int64_t column = first; column < end; ++column) {
        const float level = matrix.values.empty() ? static_cast<float>(codes[column] - zero)
                                                  : matrix.values[codes[column]];
        float value = level * scale;
        if (matrix.minimum) value += minimum;
        const int64_t at =
            matrix.order.empty() ? column : matrix.order[static_cast<size_t>(column)];
        to[row * columns + at] = value;
      }
    }
  });
  return result;
}

}  // namespace

BlockWeight block_weight(CodedMatrix matrix, const std::string& name, const std::string& file) {
  auto layout = layout_of(matrix);
  const auto placed =
      std::make_shared<const Placed>(Placed{std::move(matrix), name, file, std::move(layout)});
  return {.shape = placed->matrix.shape,
          .type = placed->matrix.type,
          .stored = placed->matrix.stored,
          .layout = placed->layout,
          .packed = [placed] { return packed(*placed); },
          .expanded = [placed] { return expanded(*placed); }};
}

}  // namespace tapml::frontend
