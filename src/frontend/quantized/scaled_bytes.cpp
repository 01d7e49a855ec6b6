#include "frontend/quantized/scaled_bytes.h"

#include <cstring>
#include <memory>

#include "frontend/quantized/number_reader.h"
#include "frontend/quantized/small_floats.h"

namespace tapml::frontend {

namespace {

constexpr int64_t kLeastPart = 8;  // columns of a row that share a scale

// Where the scale of a row's group is.
struct ScaleGrid {
  int64_t group = 0;     // columns that share a scale
  int64_t row_step = 1;  // rows that share scales
  int64_t width = 1;     // scales of a row

  int64_t at(int64_t row, int64_t group) const { return row / row_step * width + group; }
};

ScaleGrid grid_of(const LayerTensors& tensors, const ScaledBytes& names, const Shape& shape,
                  const Shape& scales) {
  const int64_t rows = shape[0], columns = shape[1], count = element_count(scales);
  if (scales.size() <= 2 && count == 1) return {columns, rows, 1};
  std::string expected = "[1], [" + std::to_string(rows) + ", 1] or equal parts of each row";
  if (names.block) {
    const ScaleBlock& block = *names.block;
    const Shape blocks = {(rows + block.rows - 1) / block.rows,
                          (columns + block.columns - 1) / block.columns};
    if (scales == blocks) return {block.columns, block.rows, blocks[1]};
    expected = shape_to_string(blocks) + " of its blocks, " + expected;
  }
  const int64_t parts = scales.size() == 2 ? scales[1] : 1;
  const bool is_by_row = (scales.size() == 1 || scales.size() == 2) && scales[0] == rows;
  if (!is_by_row || parts == 0 || columns % parts != 0 ||
      (parts > 1 && columns / parts < kLeastPart)) {
    tensors.refuse(names.scale, "does not have a scale for the matrix, or for each row or block",
                   expected, shape_to_string(scales));
  }
  return {columns / parts, 1, parts};
}

}  // namespace

CodedMatrix read_scaled_bytes(LayerTensors& tensors, const ScaledBytes& names,
                              const std::string& method) {
  const StoredTensor weight = names.has_integers ? tensors.take(names.weight, {"F8", "I8"})
                                                 : tensors.take(names.weight, {"F8"});
  const Shape shape = weight.tensor.shape();
  if (shape.size() != 2 || weight.tensor.size() == 0) {
    tensors.refuse(names.weight, "is not a matrix", "[outputs, inputs]", shape_to_string(shape));
  }
  const auto scales = std::make_shared<const NumberReader>(
      tensors.take(names.scale, {"F32", "F16", "BF16", "F8_E8M0", "U8", "F8_E4M3"}));
  const ScaleGrid grid = grid_of(tensors, names, shape, scales->tensor().shape());
  const bool is_float = weight.is_float8();
  const int64_t columns = shape[1];
  CodedMatrix matrix{
      .type = method + " of " + weight.dtype,
      .shape = shape,
      .bits = 8,
      .group = grid.group,
      .scales = scales->dtype(),
      .codes =
          [bytes = weight.tensor, columns, is_float](int64_t first, int64_t count, uint8_t* codes) {
            std::memcpy(codes, bytes.bytes().data() + first * columns,
                        static_cast<size_t>(count * columns));
            // Signed integers become codes from 0 on.
            for (int64_t i = 0; !is_float && i < count * columns; ++i) codes[i] ^= 0x80;
          },
      .scale = [scales, grid](int64_t row,
                              int64_t group) { return (*scales)[grid.at(row, group)]; },
      .stored = {weight.tensor, scales->tensor()}};
  if (is_float) {
    const bool is_e4m3 = weight.dtype == "F8_E4M3";
    matrix.values = float8_values(!is_e4m3);
    if (is_e4m3) matrix.format = "e4m3";
  }
  if (!is_float && !names.zero.empty() && tensors.has(names.zero)) {
    const HostTensor zero = tensors.take(names.zero, {"I8"}, scales->tensor().shape()).tensor;
    matrix.zero = [zero, grid](int64_t row, int64_t group) {
      return zero.values<int8_t>()[static_cast<size_t>(grid.at(row, group))] + 128;
    };
    matrix.stored.push_back(zero);
  }
  return matrix;
}

}  // namespace tapml::frontend
