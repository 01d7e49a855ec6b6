// Self-attention of encoders: a token sees those after it as well as those before it, and nothing
// is kept between calls (Devlin et al. 2019).
#pragma once

#include <optional>

#include "models/blocks/rope.h"

namespace tapml::models {

struct BidirectionalAttentionConfig {
  int64_t heads = 0;
  int64_t head_dim = 0;
  std::optional<Rope> rope;  // rotary positions; without, positions do not enter
};

// Which tokens a token sees: the valid ones of its text, up to `reach` tokens away on either side
// (0: all of them). bool[b, 1, 1, n], or with a reach bool[b, 1, n, n]. Serves all layers of a
// kind. A token after the valid ones may see none.
relax::Variable seen_tokens(Graph& g, int64_t reach = 0);

// Queries, keys and values [b, n, heads, head_dim] to [b, n, heads * head_dim] in the dtype of
// activations; scores and their softmax are f32. `seen` is from seen_tokens(); null: every row sees
// every row, as those of sound do. A token that sees none gets the mean of all values, which is
// finite. Sets the origin to `path`.
relax::Variable attend_both_ways(Graph& g, const std::string& path, relax::Variable q,
                                 relax::Variable k, const relax::Variable& v,
                                 const relax::Variable& seen,
                                 const BidirectionalAttentionConfig& config);

}  // namespace tapml::models
