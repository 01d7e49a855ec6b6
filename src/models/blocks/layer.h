// Arrangements of a layer's parts and its residual connections.
#pragma once

#include <functional>

#include "models/blocks/norm.h"

namespace tapml::models {

using Part = std::function<relax::Variable(const relax::Variable& x)>;

// The arrangement of most decoders: x + mix(norm(x)), then x + feed(norm(x)), with the norms
// "input_layernorm" and "post_attention_layernorm" of the layer at `path`.
relax::Variable pre_norm_layer(Graph& g, const std::string& path, const relax::Variable& x,
                               const NormConfig& norm, const Part& mix, const Part& feed);

// Both parts read the same normed input: x + mix(norm(x)) + feed(norm(x)), with the norm
// "input_layernorm" (Wang and Komatsuzaki 2021, GPT-J).
relax::Variable parallel_layer(Graph& g, const std::string& path, const relax::Variable& x,
                               const NormConfig& norm, const Part& mix, const Part& feed);

}  // namespace tapml::models
