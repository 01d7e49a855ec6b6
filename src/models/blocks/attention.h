// Self-attention over the paged cache: causal, but for tokens of an image that see each other
// (Graph::ahead()), which a layer with sinks does not support.
#pragma once

#include <optional>
#include <vector>

#include "models/blocks/linear.h"
#include "models/blocks/norm.h"
#include "models/blocks/rope.h"

namespace tapml::models {

// Which norm queries and keys go through, and where.
enum class QkNorm : uint8_t {
  kNone,
  kHeads,           // each head, before rotation ("q_norm" and "k_norm" of [head_dim])
  kHeadsAfterRope,  // each head, after rotation
  kWhole,           // all heads of a token as one vector, before rotation
};

struct AttentionConfig {
  int64_t heads = 0;
  int64_t kv_heads = 0;  // divides heads: grouped queries (Ainslie et al. 2023)
  int64_t head_dim = 0;
  double scale = 0;          // of the scores; 0: 1 / sqrt(head_dim)
  int64_t window = 0;        // tokens that a token sees, its own included; 0: all
  int64_t chunk = 0;         // tokens of a chunk, of which a token sees only its own; 0: one chunk
  double soft_cap = 0;       // scores become c * tanh(s / c); 0: none
  std::optional<Rope> rope;  // rotary positions; without, positions do not enter
  // In place of positions: in head h a score is less by slope h for each token between (Press et
  // al. 2022); alibi_slopes(). Empty: none. Not with sinks.
  std::vector<float> slopes;
  relax::Variable query_factors;  // of the rotated queries, f32[b, n, 1, 1]; null: none
  QkNorm qk_norm = QkNorm::kNone;
  NormConfig norm;  // of queries and keys
  const char* q_norm = "q_norm";
  const char* k_norm = "k_norm";
  bool value_norm = false;       // values go through a norm without a weight ("v_norm")
  bool keys_are_values = false;  // instead of v_proj: values are the keys before their norm
  int64_t shared_layer = -1;     // an earlier layer, whose keys and values are used; -1: own ones
  double clip = 0;  // queries, keys and values, after their norms, are at most this; 0: any
  bool qkv_bias = false;
  bool output_bias = false;
  // Each head has one more score, of no position and without a value: the weight
  // "<path>.sinks" [heads] (Xiao et al. 2023; gpt-oss).
  bool sinks = false;
  const char* output = "o_proj";
  const char* qkv = "qkv_proj";  // of the fused form

  int64_t query_width() const { return heads * head_dim; }
  int64_t key_width() const { return kv_heads * head_dim; }
};

// The slopes of linear biases for a number of heads: powers of 2 whose exponents end at -8, and for
// a number that is not a power of 2 those of the next lower one, then every second of the next
// higher one (Press et al. 2022).
std::vector<float> alibi_slopes(int64_t heads);

// Attention with the projections q_proj, k_proj, v_proj and `config.output` under `path`:
// [b, n, hidden] to [b, n, hidden], without the residual. The layer keeps "k_pool.<layer>" and
// "v_pool.<layer>" of [pages, page_size, kv_heads, head_dim], unless it uses those of another.
relax::Variable attention(Graph& g, int64_t layer, const std::string& path,
                          const relax::Variable& x, const AttentionConfig& config);

// The same with one matrix, `config.qkv`, that gives all queries, then all keys, then all values.
// Without norms of queries and keys as wholes.
relax::Variable fused_qkv_attention(Graph& g, int64_t layer, const std::string& path,
                                    const relax::Variable& x, const AttentionConfig& config);

// The same without projections: queries [b, n, heads, head_dim], keys and values
// [b, n, kv_heads, head_dim], null for those of config.shared_layer, to [b, n, heads * head_dim].
// Sets the origin to `path`.
relax::Variable attend(Graph& g, int64_t layer, const std::string& path, relax::Variable q,
                       relax::Variable k, relax::Variable v, const AttentionConfig& config);

// [b, n, heads * head_dim] as [b, n, heads, head_dim].
relax::Variable in_heads(Graph& g, const relax::Variable& x, int64_t heads, int64_t head_dim);

}  // namespace tapml::models
