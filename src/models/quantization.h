// Weights in groups of integers: which weights of a model are quantized, and their names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/weights.h"

namespace tapml::models {

// Number of adjacent elements in a row that share a scale.
inline constexpr int64_t kQuantizationGroup = 32;

// A linear weight becomes four-bit levels with a scale for each group (WeightLayout).
struct Quantization {
  const char* name;  // value of --quantize
  const char* doc;
  DType scales;
  DType activations;  // of the whole model where the precision does not choose

  WeightLayout layout() const { return {.bits = 4, .group = kQuantizationGroup, .scales = scales}; }
};

std::span<const Quantization> quantization_table();
// UserError that lists the known names.
const Quantization& find_quantization(std::string_view name);

std::string packed_name(const std::string& weight);
std::string scales_name(const std::string& weight);
std::string minimums_name(const std::string& weight);
std::string order_name(const std::string& weight);

// Names of the parameters of `weights`, in order.
std::vector<std::string> weight_parameters(std::span<const WeightSpec> weights,
                                           const ModelDTypes& dtypes);

// UserError for a linear weight whose rows do not consist of whole groups.
void check_quantizable(std::span<const WeightSpec> weights);
// UserError if the inputs of linear layers are to be quantized, but none of the weights has integer
// levels.
void check_quantized_inputs(std::span<const WeightSpec> weights, const ModelDTypes& dtypes);

}  // namespace tapml::models
