// NVFP4: E2M1 with a float8 scale for each 16 elements of a row, and one scale for the matrix.
#pragma once

#include <string>
#include <string_view>

#include "frontend/quantized/coded_matrix.h"
#include "frontend/quantized/layer_tensors.h"

namespace tapml::frontend {

struct Nvfp4Names {
  std::string_view weight;  // u8[rows, columns / 2]
  std::string_view whole;   // f32 [1] or [], the scale of the matrix
  bool divides = false;     // scales are divided by it, else multiplied
};

// Of ".weight_scale" F8_E4M3 [rows, columns / 16] besides.
CodedMatrix read_nvfp4(LayerTensors& tensors, const Nvfp4Names& names);

}  // namespace tapml::frontend
