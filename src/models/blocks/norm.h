// Normalization of hidden states over their last dimension.
#pragma once

#include "models/graph.h"

namespace tapml::models {

struct NormConfig {
  enum class Kind : uint8_t {
    kRms,    // x / rms(x) (Zhang and Sennrich 2019)
    kLayer,  // (x - mean(x)) / deviation(x) (Ba et al. 2016)
  };
  Kind kind = Kind::kRms;
  double epsilon = 1e-6;
  bool one_plus_weight = false;  // the factor is 1 + weight (Gemma)
  bool bias = false;             // layer norm: the files have a bias
  bool weightless = false;       // the factor is 1
};

// [..., d] to [..., d] with "<path>.weight" [d] and, if there is one, "<path>.bias" [d], computed
// in f32, in the dtype of activations. Sets the origin to `path`.
relax::Variable norm(Graph& g, const std::string& path, const relax::Variable& x,
                     const NormConfig& config);

}  // namespace tapml::models
