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
  std::vector<int32_t> kernels;  // that the layer calls: indices in the suite, by first call
};

class ModelLayers {
 public:
  explicit ModelLayers(const Suite& suite);
  // In the order of their first calls.
  const std::vector<ModelLayer>& all() const { return layers_; }
  // The layer of a call: the last of its origin's layers, so that all of them are complete before
  // it moves. An origin without paths is the layer "elsewhere". all().size(): there is no such
  // layer.
  size_t of(const Origin& origin) const;

 private:
  size_t find(const std::string& name) const;
  std::vector<ModelLayer> layers_;
};

}  // namespace tapml::topdown
