// Matrices whose elements are bytes, with scales on a grid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "frontend/quantized/coded_matrix.h"
#include "frontend/quantized/layer_tensors.h"

namespace tapml::frontend {

// Rows and columns that share a scale.
struct ScaleBlock {
  int64_t rows = 1, columns = 1;
};

struct ScaledBytes {
  std::string_view weight = ".weight";  // F8 or I8 [rows, columns]
  std::string_view scale = ".weight_scale";
  bool has_integers = false;        // the weight may be of I8
  std::string_view zero = {};       // I8 of the shape of the scales, of I8 only; empty: none
  std::optional<ScaleBlock> block;  // of scales [rows / block.rows, columns / block.columns]
};

// A layer of float8 or of integers of eight bits. Scales, of f16, bf16, f32, F8_E4M3 or F8_E8M0
// (U8), may be one for all ([] or [1]), one for each row ([rows] or [rows, 1]), for equal parts of
// each row
// ([rows, parts]), or for each block. UserError for other tensors.
CodedMatrix read_scaled_bytes(LayerTensors& tensors, const ScaledBytes& names,
                              const std::string& method);

}  // namespace tapml::frontend
