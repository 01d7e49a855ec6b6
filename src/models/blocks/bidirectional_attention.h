// Self-attention of encoders: a token sees those after it as well as those before it, and nothing
// is kept between calls (Devlin et al. 2019).
#pragma once

#include <optional>

#include "models/blocks/rope.h"

namespace tapml::models {

struct BidirectionalAttentionConfig {
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t reach = 0;         // tokens that a token sees on either side of it; 0: all
  std::optional<Rope> rope;  // rotary positions; without, positions do not enter
  relax::Variable bias;      // of the scores, f32[1, heads, n, n]; null: none. Without a reach
};

// Queries, keys and values [b, n, heads, head_dim] to [b, n, heads * head_dim] in the dtype of
// activations; scores and their softmax are f32. A token sees the valid ones of its text, within
// the reach; where the graph has no counts of valid ones (sound), every row sees every row. One
// that sees none gets finite values. With a bias, or without counts, the scores are a tensor of
// their own. Sets the origin to `path`.
relax::Variable attend_both_ways(Graph& g, const std::string& path, relax::Variable q,
                                 relax::Variable k, const relax::Variable& v,
                                 const BidirectionalAttentionConfig& config);

}  // namespace tapml::models
