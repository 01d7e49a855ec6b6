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
};

// The dtype that each weight is stored in.
struct WeightDTypes {
  DType fallback = DType::kF32;  // of weights that by_name lacks
  std::map<std::string, DType> by_name;

  DType of(const std::string& name) const {
    auto it = by_name.find(name);
    return it == by_name.end() ? fallback : it->second;
  }
};

}  // namespace tapml::models
