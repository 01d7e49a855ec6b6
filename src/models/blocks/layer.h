// Arrangements of a layer's parts and its residual connections.
#pragma once

#include <functional>

#include "models/blocks/norm.h"

namespace tapml::models {

using Part = std::function<relax::Variable(const relax::Variable& x)>;

// Names of the norms before the parts, in the order in which they are applied.
struct PreNormNames {
  const char* before_mix = "input_layernorm";
  const char* before_feed = "post_attention_layernorm";
};

// The arrangement of most decoders: x + mix(norm(x)), then x + feed(norm(x)), with norms of the
// layer at `path`.
relax::Variable pre_norm_layer(Graph& g, const std::string& path, const relax::Variable& x,
                               const NormConfig& norm, const Part& mix, const Part& feed,
                               const PreNormNames& names = {});

// Both parts read the same normed input: x + mix(norm(x)) + feed(norm(x)), with the norm
// "input_layernorm" (Wang and Komatsuzaki 2021, GPT-J).
relax::Variable parallel_layer(Graph& g, const std::string& path, const relax::Variable& x,
                               const NormConfig& norm, const Part& mix, const Part& feed);

// Norms of what the parts give: x + norm(mix(x)), then x + norm(feed(x)), with the norms
// "post_attention_layernorm" and "post_feedforward_layernorm" (OLMo 2).
relax::Variable post_norm_layer(Graph& g, const std::string& path, const relax::Variable& x,
                                const NormConfig& norm, const Part& mix, const Part& feed);

// Names of the norms after the parts, in the order in which they are applied.
struct NormedSumNames {
  const char* after_mix;
  const char* after_feed;
};

// Norms of the sums: y = norm(x + mix(x)), then norm(y + feed(y)) (Vaswani et al. 2017, BERT).
relax::Variable normed_sum_layer(Graph& g, const std::string& path, const relax::Variable& x,
                                 const NormConfig& norm, const Part& mix, const Part& feed,
                                 const NormedSumNames& names);

// Names of the norms before and after each part, in the order in which they are applied.
struct SandwichNames {
  const char* before_mix = "input_layernorm";
  const char* after_mix = "post_attention_layernorm";
  const char* before_feed = "pre_feedforward_layernorm";
  const char* after_feed = "post_feedforward_layernorm";
};

// Norms before and after each part: x + norm(mix(norm(x))), then x + norm(feed(norm(x))) (Gemma 2).
relax::Variable sandwich_layer(Graph& g, const std::string& path, const relax::Variable& x,
                               const NormConfig& norm, const Part& mix, const Part& feed,
                               const SandwichNames& names = {});

}  // namespace tapml::models
