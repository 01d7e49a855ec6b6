// Named weight parameters of a model.
#pragma once

#include <map>
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
  bool linear = false;  // a matrix, or matrices, of a linear layer, which quantization applies to
};

struct Quantization;  // models/quantization.h

// The dtypes of a model: of each weight as it is stored, and of what it computes.
struct ModelDTypes {
  DType fallback = DType::kF32;  // of weights that by_name lacks
  std::map<std::string, DType> by_name;
  const Quantization* quantization = nullptr;  // of the linear weights; null: none
  Precision precision = {};

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
