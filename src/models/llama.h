// The Llama architecture: pre-norm transformer, grouped-query attention, rotary positions, gated
// feed-forward (Touvron et al. 2023; the layout and names of Hugging Face's LlamaForCausalLM).
#pragma once

#include <cstdint>
#include <vector>

#include "ir/module.h"
#include "models/weights.h"

namespace tapml::models {

// Rotary position embedding: j < head_dim / 2 turns by position * theta^(-2j / head_dim) radians,
// scaled.
struct RopeConfig {
  enum class Scaling : uint8_t {
    kNone,
    kLinear,  // frequencies divided by `factor`
    kLlama3,  // by parts: long wavelengths divided by `factor`, short ones kept, blended between
  };
  double theta = 10000;
  Scaling scaling = Scaling::kNone;
  double factor = 1;
  double low_freq_factor = 1;    // llama3
  double high_freq_factor = 4;   // llama3, above low_freq_factor
  int64_t original_context = 0;  // llama3: tokens that the model was first trained for
};

struct LlamaConfig {
  int64_t vocabulary = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;  // divides heads
  int64_t head_dim = 0;  // even
  int64_t context = 0;   // most tokens of a sequence
  double rms_norm_epsilon = 1e-6;
  RopeConfig rope;
  bool tied_embeddings = false;  // lm_head uses the embedding's weight
  bool attention_bias = false;   // on the projections to q, k, v and of the mixed heads
  bool mlp_bias = false;         // on the three projections of the feed-forward part
  int64_t page_size = 16;        // tokens in a page of the KV cache
};

// Radians per position, f32[head_dim / 2], bit for bit as transformers computes them on a platform
// with a correctly rounded pow: every step is rounded to f32.
std::vector<float> rope_frequencies(const RopeConfig& rope, int64_t head_dim);

// The parameters in the order in which the exported functions take them, by their Hugging Face
// names. UserError where a size overflows.
std::vector<WeightSpec> llama_weights(const LlamaConfig& config);

// The Module of architecture contract 7. Symbolic: b sequences, n new tokens, p page-table columns,
// `pages` pages in a pool.
//   prefill, logits_all (tokens i32[b, n], page_table i32[b, p], lengths i32[b],
//                        k_pool, v_pool per layer f32[pages, page_size, kv_heads, head_dim],
//                        weights...) -> (logits, k_pool, v_pool per layer)
//   decode: the same with n = 1
//   sample (logits f32[b, vocabulary], parameters f32[b, 2] (temperature, top-p), state i64[2])
//          -> (tokens i32[b], state): the largest logit, the lowest index of equal ones
// `lengths` counts the tokens in the cache before the call. The logits are those of the last token,
// f32[b, vocabulary], or of all, f32[b, n, vocabulary], in logits_all. Activations are f32, weights
// have the dtypes of `dtypes`. The pools are updated in place.
// Module attributes: model_interface_attrs and "bound.n", "bound.p", the most that n and p can be.
Module build_llama(const LlamaConfig& config, const WeightDTypes& dtypes);

}  // namespace tapml::models
