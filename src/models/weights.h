// Named weight parameters of a model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tensor/host_tensor.h"

namespace tapml::models {

struct WeightSpec {
  std::string name;  // as the published files name it
  Shape shape;
  // Where files have one tensor for each index of the first dimension: their names, in order.
  std::vector<std::string> parts;
  bool linear = false;  // a matrix, or matrices, of a layer's linear maps: what quantization takes
};

struct Quantization;  // models/quantization.h

// The dtype that each weight is stored in.
struct WeightDTypes {
  DType fallback = DType::kF32;  // of weights that by_name lacks
  std::map<std::string, DType> by_name;
  const Quantization* quantization = nullptr;  // of the linear weights; null: none

  DType of(const std::string& name) const {
    auto it = by_name.find(name);
    return it == by_name.end() ? fallback : it->second;
  }
};

}  // namespace tapml::models
