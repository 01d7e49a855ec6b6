#include "models/architectures/qwen2_moe.h"

#include <algorithm>

#include "base/strings.h"
#include "ir/exceptions.h"
#include "models/blocks/attention.h"
#include "models/blocks/embedding.h"
#include "models/blocks/shared_expert.h"

namespace tapml::models {

using relax::Variable;

namespace {

// From transformers' Qwen2MoeConfig.
constexpr DecoderDefaults kQwen2MoeDefaults = {.vocabulary = 151936,
                                               .hidden = 2048,
                                               .layers = 24,
                                               .heads = 16,
                                               .kv_heads = 16,
                                               .context = 32768,
                                               .intermediate = 5632};
constexpr int64_t kSharedIntermediate = 5632;
constexpr int64_t kExpertIntermediate = 1408;
constexpr int64_t kExperts = 60;
constexpr int64_t kExpertsPerToken = 4;
constexpr int64_t kQwen2MoeWindow = 4096;
constexpr int64_t kMaxWindowLayers = 28;

Variable sparse_feed_forward(Graph& g, const std::string& path, const Variable& x,
                             const Qwen2MoeConfig& c) {
  return experts_with_shared(g, path, x,
                             {.experts = c.experts,
                              .per_token = c.experts_per_token,
                              .inner = c.expert_intermediate,
                              .activation = c.activation,
                              .router = {.renormalize = c.renormalize}},
                             {.inner = c.shared_intermediate, .gated = true});
}

Variable hidden_states(Graph& g, const Qwen2MoeConfig& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer), mlp = path + ".mlp";
    Variable y = norm(g, path + ".input_layernorm", x, norm_of(c));
    y = attention(g, layer, path + ".self_attn", y, attention_of(c, layer));
    x = residual(g, path, x, y);
    y = norm(g, path + ".post_attention_layernorm", x, norm_of(c));
    y = c.sparse.at(static_cast<size_t>(layer)) ? sparse_feed_forward(g, mlp, y, c)
                                                : gated_feed_forward(g, mlp, y, feed_forward_of(c));
    x = residual(g, path, x, y);
  }
  return x;
}

}  // namespace

Qwen2MoeConfig read_qwen2_moe_config(const JsonObjectReader& json, ConfigNotes& notes) {
  Qwen2MoeConfig config;
  read_decoder(json, kQwen2MoeDefaults, config, notes);
  const auto size = [&](const char* key, int64_t fallback, int64_t min, int64_t max) {
    return int_or_default(json, key, fallback, min, max, notes);
  };
  config.qkv_bias = unwrap(json.bool_or("qkv_bias", true));
  config.experts = read_experts(json, "num_experts", kExperts, 0, config, notes);
  config.sparse = read_sparse_layers(json, config, config.experts);
  if (config.experts > 0) {
    config.experts_per_token =
        size("num_experts_per_tok", std::min(kExpertsPerToken, config.experts), 1, config.experts);
    config.expert_intermediate = size("moe_intermediate_size", kExpertIntermediate, 1, kMaxWidth);
    // 0 or null: no shared expert.
    const Json* shared = json.json().find("shared_expert_intermediate_size");
    if (!shared || !shared->is_null()) {
      config.shared_intermediate =
          size("shared_expert_intermediate_size", kSharedIntermediate, 0, kMaxWidth);
    }
    config.renormalize = unwrap(json.bool_or("norm_topk_prob", false));
  }
  if (unwrap(json.bool_or("use_sliding_window", false))) {
    config.window = read_window(json, config, kQwen2MoeWindow);
    const int64_t last = unwrap(json.int_or("max_window_layers", kMaxWindowLayers, 0, kMaxLayers));
    config.windowed =
        read_windowed(json, config, [&](int64_t layer) { return layer % 2 == 0 && layer < last; });
  }
  return config;
}

DecoderModel qwen2_moe_model(const Qwen2MoeConfig& c) {
  DecoderModel model = decoder_model("qwen2_moe", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models
