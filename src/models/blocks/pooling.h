// Pooling: one vector for a text, from the hidden states of its tokens (Reimers and Gurevych 2019).
#pragma once

#include "models/graph.h"

namespace tapml::models {

enum class Pooling : uint8_t {
  kMean,        // the mean of the valid tokens
  kFirstToken,  // the first token, which BERT calls [CLS]
};

// Of "mean" or "cls", the names that options and published files have; UserError for another one.
Pooling find_pooling(std::string_view name);

struct PoolingConfig {
  Pooling pooling = Pooling::kMean;
  bool normalized = true;  // divided by its length, at least 1e-12
};

// Hidden states [b, n, d] of an encoder to the function's result, f32[b, d]. Sets the origin to
// "pooling".
relax::Variable pool(Graph& g, const relax::Variable& x, const PoolingConfig& config);

}  // namespace tapml::models
