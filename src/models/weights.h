// Named weight parameters of a model.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/precision.h"
#include "tensor/host_tensor.h"

namespace tapml::models {

struct WeightSpec {
  std::string name;  // as in published files
  Shape shape;
  // If files have one tensor for each index of the first dimension: their names, in order.
  std::vector<std::string> parts;
  bool linear = false;   // a matrix, or matrices, of a linear layer, which quantization applies to
  bool expands = false;  // may stay quantized as files store it (Graph::weight)
  // The columns of a quantized matrix may have another order (Graph::ordered).
  bool reorders = false;
  // A matrix [..., inputs, outputs] in files that are not quantized; quantized ones have [...,
  // outputs, inputs], like those of other linear layers.
  bool transposed = false;
};

// How a quantized weight w[..., k] is stored: as parameters, operands of the operators dequantize,
// dequantize_affine, dequantize_float and dequantize_table. "<name>.packed" is u8[..., k * bits /
// 8] of 2 to 6 bits (tensor/packed_levels.h), [..., k] in i8 of 8 bits or in u8 of floats of 8;
// "<name>.scales" and "<name>.minimums" are [..., k / group].
struct WeightLayout {
  int bits = 4;
  int64_t group = 32;          // adjacent elements of a row that share a scale
  DType scales = DType::kF32;  // and minimums
  bool has_minimums = false;
  std::string format = {};         // of dequantize_float; empty: levels are not floats
  std::vector<float> values = {};  // of dequantize_table, 16; empty: levels are not indices
  // "<name>.order" i32[k] has the input that each column belongs to.
  bool has_order = false;
  // The last two dimensions have the other order than the specification's.
  bool is_swapped = false;

  bool operator==(const WeightLayout& other) const = default;
  // Whether elements are integers times a scale.
  bool has_levels() const { return values.empty() && format.empty(); }
  // Whether a byte of "<name>.packed" is one level.
  bool is_whole() const { return bits == 8; }
  DType packed() const { return is_whole() && format.empty() ? DType::kI8 : DType::kU8; }
};

class Quantization;  // models/quantization.h
using QuantizationRef = std::shared_ptr<const Quantization>;

// The dtypes of a model: of each weight as it is stored, and of what it computes.
struct ModelDTypes {
  DType fallback = DType::kF32;  // of weights that by_name lacks
  std::map<std::string, DType> by_name;
  QuantizationRef quantization = nullptr;            // of weights as files have them; null: none
  std::map<std::string, WeightLayout> layouts = {};  // of weights that stay as files store them
  Precision precision = {};

  // Of a quantized weight; nullopt for another one.
  std::optional<WeightLayout> layout_of(const WeightSpec& spec) const;
  DType activations() const;
  DType cache() const { return precision.cache.value_or(activations()); }
  // Of linear layers; UserError for f16 with activations in another dtype.
  DType accumulation() const;
  DType of(const std::string& name) const {
    auto it = by_name.find(name);
    return it == by_name.end() ? fallback : it->second;
  }
};

}  // namespace tapml::models
