// Group-wise weights of four bits: which weights of a model, and how they are called.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "models/weights.h"

namespace tapml::models {

// Neighbours along a row that share a scale.
inline constexpr int64_t kQuantizationGroup = 32;

// A weight w[..., k] becomes two parameters: "<name>.packed" u8[..., k / 2] and "<name>.scales"
// [..., k / kQuantizationGroup], operands of the operator dequantize.
struct Quantization {
  const char* name;  // of --quantize
  const char* doc;
  DType scales;
  DType activations;  // of the whole model where the precision does not choose
};

std::span<const Quantization> quantization_table();
// UserError, with the table's names.
const Quantization& find_quantization(std::string_view name);

std::string packed_name(const std::string& weight);
std::string scales_name(const std::string& weight);

// UserError for a linear weight whose rows are not whole groups.
void check_quantizable(std::span<const WeightSpec> weights);

}  // namespace tapml::models
