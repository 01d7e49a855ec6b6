// Embeddings of tokens for each layer, beside the one at the start (Gemma Team 2025, Gemma 3n).
#pragma once

#include "models/blocks/feed_forward.h"
#include "models/blocks/norm.h"

namespace tapml::models {

struct PerLayerConfig {
  int64_t width = 0;        // of a layer's embedding; 0: there are none
  int64_t rows = 0;         // of their table
  bool is_partial = false;  // tokens beyond its rows get the first one
  int64_t layers = 0;
  Activation activation = Activation::kGeluTanh;
  NormConfig norm;
};

// What each layer gets, [b, n, width] for each: the mean, but for a factor, of the tokens' rows of
// "model.embed_tokens_per_layer" and of a normed projection of the embedded tokens x
// [b, n, hidden]. Sets the origin to "model".
std::vector<relax::Variable> per_layer_embeddings(Graph& g, const relax::Variable& x,
                                                  const PerLayerConfig& config);

// x [b, n, hidden] in the layer at `path` and the layer's embedding to [b, n, hidden], without the
// residual: norm(project(activation(gate(x)) * embedding)).
relax::Variable per_layer_part(Graph& g, const std::string& path, const relax::Variable& x,
                               const relax::Variable& embedding, const PerLayerConfig& config);

}  // namespace tapml::models
