// Multi-head latent attention (DeepSeek-AI 2024, DeepSeek V2, section 2.1): keys and values of all
// heads are products of one short vector, the latent, which alone is in the cache.
#pragma once

#include <optional>

#include "models/blocks/linear.h"
#include "models/blocks/norm.h"
#include "models/blocks/rope.h"

namespace tapml::models {

struct LatentAttentionConfig {
  int64_t heads = 0;
  int64_t query_rank = 0;    // width of the latent that queries are made of; 0: of x itself
  int64_t rank = 0;          // width of the latent
  int64_t plain_width = 0;   // part of a head's queries and keys without positions
  int64_t turned_width = 0;  // part with positions; its keys are shared by all heads
  int64_t value_width = 0;
  double scale = 0;  // of the scores
  Rope rope;
  NormConfig norm;    // of the latents
  bool bias = false;  // of the projections to latents, and of the output's
};

// [b, n, hidden] to [b, n, hidden] with the projections q_proj, or q_a_proj and q_b_proj,
// kv_a_proj_with_mqa, kv_b_proj and o_proj and the norms q_a_layernorm and kv_a_layernorm under
// `path`, without the residual. The layer keeps "latent_pool.<layer>" of [pages, page_size, 1, rank
// + turned_width].
//
// Computed in the absorbed form, in prefill too: kv_b_proj, which would make keys and values of
// each cached latent, is applied to queries and to the mean of latents instead, so that all heads
// attend to the same rows and a latent is read once.
relax::Variable latent_attention(Graph& g, int64_t layer, const std::string& path,
                                 const relax::Variable& x, const LatentAttentionConfig& config);

}  // namespace tapml::models
