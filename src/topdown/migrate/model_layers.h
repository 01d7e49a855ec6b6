// The layers of a model, in the order of its run.
#pragma once

#include <string>
#include <vector>

#include "topdown/suite/suite.h"

namespace tapml::topdown {

// "model.layers.3" of "model.layers.3.self_attn.q_proj"; a path without a number is its own layer.
std::string layer_of_path(const std::string& path);

struct ModelLayer {
  std::string name;
  std::vector<int32_t> kernels;  // of the suite, that are called there, as they are first called
};

class ModelLayers {
 public:
  explicit ModelLayers(const Suite& suite);
  // As they are first called.
  const std::vector<ModelLayer>& all() const { return layers_; }
  // Where a call belongs: the last of its origin's layers, so that all are there before it moves.
  // An origin without paths is the layer "elsewhere". all().size(): there is no such layer.
  size_t of(const Origin& origin) const;

 private:
  size_t find(const std::string& name) const;
  std::vector<ModelLayer> layers_;
};

}  // namespace tapml::topdown
