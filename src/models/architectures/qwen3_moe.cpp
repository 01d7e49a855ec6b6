// Qwen 3 with experts: the attention of Qwen 3, routed experts in the sparse layers and none that
// all tokens share (Yang et al. 2025; the layout and names of Hugging Face's Qwen3MoeForCausalLM).
#include <algorithm>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/experts.h"
#include "models/blocks/layer.h"

namespace tapml::models::qwen3_moe {

using relax::Variable;

namespace {

// From transformers' Qwen3MoeConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 151936,
                                       .hidden = 2048,
                                       .layers = 24,
                                       .heads = 32,
                                       .kv_heads = 4,
                                       .context = 32768,
                                       .intermediate = 6144};

constexpr int64_t kExperts = 128;
constexpr int64_t kExpertsPerToken = 8;
constexpr int64_t kExpertIntermediate = 768;
constexpr int64_t kWindow = 4096;

struct Config : DecoderConfig {
  ExpertConfig experts;
  std::vector<bool> sparse;  // by layer
};

AttentionConfig attention_of_layer(const Config& c) {
  AttentionConfig config = attention_of(c);
  config.qk_norm = QkNorm::kHeads;
  return config;
}

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_of_layer(c));
        },
        [&](const Variable& y) {
          if (!c.sparse[static_cast<size_t>(layer)]) {
            return gated_feed_forward(g, path + ".mlp", y, feed_forward_of(c));
          }
          return g.narrowed(experts(g, path + ".mlp", y, c.experts));
        });
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  if (unwrap(json.bool_or("use_sliding_window", false))) c.window = read_window(json, c, kWindow);
  c.experts.activation = c.activation;
  c.experts.experts = read_experts(json, "num_experts", kExperts, 0, c, notes);
  c.sparse = read_sparse_layers(json, c, c.experts.experts);
  if (c.experts.experts > 0) {
    c.experts.per_token =
        int_or_default(json, "num_experts_per_tok", std::min(kExpertsPerToken, c.experts.experts),
                       1, c.experts.experts, notes);
    c.experts.inner =
        int_or_default(json, "moe_intermediate_size", kExpertIntermediate, 1, kMaxWidth, notes);
    c.experts.router.renormalize = unwrap(json.bool_or("norm_topk_prob", false));
  }
  DecoderModel model = decoder_model("qwen3_moe", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::qwen3_moe
