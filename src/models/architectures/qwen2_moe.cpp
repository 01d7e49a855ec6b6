#include "models/architectures/qwen2_moe.h"

#include <algorithm>

#include "base/strings.h"
#include "ir/exceptions.h"
#include "models/blocks/attention.h"
#include "models/blocks/embedding.h"
#include "models/blocks/experts.h"

namespace tapml::models {

using relax::Variable;

namespace {

constexpr int64_t kMaxExperts = 4096;
// Across all layers: each expert has three tensors in the files, which are looked up by name.
constexpr int64_t kMaxExpertsOfAllLayers = int64_t{1} << 18;

// From transformers' Qwen2MoeConfig.
constexpr DecoderDefaults kQwen2MoeDefaults = {.vocabulary = 151936,
                                               .hidden = 2048,
                                               .layers = 24,
                                               .heads = 16,
                                               .kv_heads = 16,
                                               .context = 32768};
constexpr int64_t kDenseIntermediate = 5632;
constexpr int64_t kSharedIntermediate = 5632;
constexpr int64_t kExpertIntermediate = 1408;
constexpr int64_t kExperts = 60;
constexpr int64_t kExpertsPerToken = 4;
constexpr int64_t kSlidingWindow = 4096;
constexpr int64_t kMaxWindowLayers = 28;

// A window of at least the context length has no effect.
bool window_is_harmless(const JsonObjectReader& json, const Qwen2MoeConfig& config) {
  return unwrap(json.int_or("sliding_window", kSlidingWindow)) >= config.context;
}

// layer_types lists the layers with full attention; without it, use_sliding_window decides.
void check_attention(const JsonObjectReader& json, const Qwen2MoeConfig& config) {
  const bool wanted = unwrap(json.bool_or("use_sliding_window", false));
  if (json.has("layer_types")) {
    const auto types = unwrap(json.required_string_array("layer_types"));
    if (static_cast<int64_t>(types.size()) != config.layers) {
      throw_error(json.field_error("layer_types", "has the wrong number of layers",
                                   std::to_string(config.layers) + " of them"));
    }
    for (const std::string& type : types) {
      const bool known = type == "full_attention" || (type == "sliding_attention" && wanted &&
                                                      window_is_harmless(json, config));
      if (known) continue;
      throw_error(json.field_error(
          "layer_types",
          "holds " + in_quotes(type) + ": attention over a part of the tokens is not supported",
          "\"full_attention\" for every layer"));
    }
    return;
  }
  const bool any_layer =
      unwrap(json.int_or("max_window_layers", kMaxWindowLayers, 0, kMaxLayers)) > 0;
  if (!wanted || !any_layer || window_is_harmless(json, config)) return;
  throw_error(json.field_error(
      "use_sliding_window", "is true: attention over a sliding window is not supported", "false"));
}

Variable sparse_feed_forward(Graph& g, const std::string& path, const Variable& x,
                             const Qwen2MoeConfig& c) {
  const Variable routed = experts(g, path, x,
                                  {.experts = c.experts,
                                   .per_token = c.experts_per_token,
                                   .inner = c.expert_intermediate,
                                   .renormalize = c.renormalize});
  if (c.shared_intermediate == 0) return g.narrowed(routed);
  const Variable shared =
      gated_feed_forward(g, path + ".shared_expert", x, {.inner = c.shared_intermediate});
  Variable gate = linear(g, path + ".shared_expert_gate", x, 1, {.narrow = true});
  g.origin(path);
  gate = g.op("sigmoid", {gate});
  return g.narrowed(g.add(routed, g.op("multiply", {shared, gate})));
}

Variable hidden_states(Graph& g, const Qwen2MoeConfig& c) {
  const AttentionConfig attention_config = attention_of(c);
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer), mlp = path + ".mlp";
    Variable y = norm(g, path + ".input_layernorm", x, norm_of(c));
    y = attention(g, layer, path + ".self_attn", y, attention_config);
    g.origin(path);
    x = g.add(x, y);
    y = norm(g, path + ".post_attention_layernorm", x, norm_of(c));
    y = c.is_sparse(layer) ? sparse_feed_forward(g, mlp, y, c)
                           : gated_feed_forward(g, mlp, y, {.inner = c.intermediate});
    g.origin(path);
    x = g.add(x, y);
  }
  return x;
}

}  // namespace

bool Qwen2MoeConfig::is_sparse(int64_t layer) const {
  return experts > 0 && (layer + 1) % sparse_step == 0 &&
         std::find(dense_layers.begin(), dense_layers.end(), layer) == dense_layers.end();
}

Qwen2MoeConfig read_qwen2_moe_config(const JsonObjectReader& json, ConfigNotes& notes) {
  Qwen2MoeConfig config;
  read_decoder(json, kQwen2MoeDefaults, config, notes);
  const auto size = [&](const char* key, int64_t fallback, int64_t min, int64_t max) {
    return int_or_default(json, key, fallback, min, max, notes);
  };
  config.qkv_bias = unwrap(json.bool_or("qkv_bias", true));
  config.intermediate = size("intermediate_size", kDenseIntermediate, 1, kMaxWidth);
  config.experts = size("num_experts", kExperts, 0, kMaxExperts);
  if (config.experts > kMaxExpertsOfAllLayers / config.layers) {
    throw_error(json.field_error(
        "num_experts", "is too many for " + std::to_string(config.layers) + " layers",
        "at most " + std::to_string(kMaxExpertsOfAllLayers) + " in all layers together"));
  }
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
    config.sparse_step = unwrap(json.int_or("decoder_sparse_step", 1, 1, kMaxLayers));
    if (json.has("mlp_only_layers")) {
      config.dense_layers = unwrap(json.required_int_array("mlp_only_layers", 0, kMaxLayers));
    }
  }
  check_attention(json, config);
  return config;
}

DecoderModel qwen2_moe_model(const Qwen2MoeConfig& c) {
  DecoderModel model = decoder_model("qwen2_moe", c);
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models
