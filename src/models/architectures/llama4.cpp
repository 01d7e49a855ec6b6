// Llama 4, the language model: chunked attention in the layers with rotary positions, scores
// scaled by position in the others, and experts beside a shared one (Meta 2025; the layout and
// names of transformers' Llama4ForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"
#include "models/blocks/shared_expert.h"

namespace tapml::models::llama4 {

using relax::Variable;

namespace {

// From transformers' Llama4TextConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 202048,
                                       .hidden = 5120,
                                       .layers = 48,
                                       .heads = 40,
                                       .kv_heads = 8,
                                       .head_dim = 128,
                                       .context = 4096 * 32,
                                       .intermediate = 8192,
                                       .norm_epsilon = 1e-5,
                                       .theta = 500000};
constexpr int64_t kDenseIntermediate = 16384, kExperts = 16, kExpertsPerToken = 1;
constexpr int64_t kChunk = 8192, kPlainInterval = 4;

struct Config : DecoderConfig {
  int64_t dense_intermediate = 0;  // of layers without experts
  int64_t chunk = 0;               // 0: none
  std::vector<bool> turned;        // by layer: with rotary positions
  std::vector<bool> chunked, sparse;
  bool qk_norm = false;
  QueryGrowth growth;  // in layers without rotary positions
  ExpertConfig experts;
};

Variable attention_layer(Graph& g, const Config& c, int64_t layer, const std::string& path,
                         const Variable& x) {
  const auto index = static_cast<size_t>(layer);
  AttentionConfig config = attention_of(c);
  if (c.chunked[index]) config.chunk = c.chunk;
  if (!c.turned[index]) {
    config.rope.reset();
    g.origin(path);
    config.query_factors = query_factors(g, c.growth);
  } else if (c.qk_norm) {
    config.qk_norm = QkNorm::kHeadsAfterRope;
    config.norm.weightless = true;
    config.q_norm = config.k_norm = "qk_norm";
  }
  return attention(g, layer, path, x, config);
}

Variable feed_forward_layer(Graph& g, const Config& c, int64_t layer, const std::string& path,
                            const Variable& x) {
  FeedForwardConfig dense = feed_forward_of(c);
  if (!c.sparse[static_cast<size_t>(layer)]) {
    dense.inner = c.dense_intermediate;
    return gated_feed_forward(g, path, x, dense);
  }
  return experts_with_shared(g, path, x, c.experts, {.inner = dense.inner});
}

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) { return attention_layer(g, c, layer, path + ".self_attn", y); },
        [&](const Variable& y) {
          return feed_forward_layer(g, c, layer, path + ".feed_forward", y);
        });
  }
  return x;
}

std::vector<bool> read_turned(const JsonObjectReader& json, const Config& c) {
  std::vector<bool> turned;
  const int64_t interval =
      unwrap(json.int_or("no_rope_layer_interval", kPlainInterval, 1, kMaxLayers));
  const bool listed =
      json.has("no_rope_layers") && !unwrap(json.required_array("no_rope_layers"))->empty();
  if (!listed) {
    for (int64_t layer = 0; layer < c.layers; ++layer)
      turned.push_back((layer + 1) % interval != 0);
    return turned;
  }
  for (const int64_t with : unwrap(json.required_int_array("no_rope_layers", 0, 1))) {
    turned.push_back(with == 1);
  }
  if (std::ssize(turned) >= c.layers) return turned;
  throw_error(json.field_error("no_rope_layers", "has fewer entries than layers",
                               std::to_string(c.layers) + " of them"));
}

std::vector<bool> read_sparse(const JsonObjectReader& json, const Config& c) {
  std::vector<bool> sparse(static_cast<size_t>(c.layers), false);
  const int64_t step = unwrap(json.int_or("interleave_moe_layer_step", 1, 1, kMaxLayers));
  if (!json.has("moe_layers")) {
    for (int64_t layer = step - 1; layer < c.layers; layer += step) {
      sparse[static_cast<size_t>(layer)] = true;
    }
    return sparse;
  }
  for (const int64_t layer : unwrap(json.required_int_array("moe_layers", 0, kMaxLayers))) {
    if (layer < c.layers) sparse[static_cast<size_t>(layer)] = true;
  }
  return sparse;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.rope.interleaved = true;
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  c.dense_intermediate =
      int_or_default(json, "intermediate_size_mlp", kDenseIntermediate, 1, kMaxWidth, notes);
  c.qk_norm = unwrap(json.bool_or("use_qk_norm", true));
  c.turned = read_turned(json, c);
  const Json* chunk = json.json().find("attention_chunk_size");
  if (!chunk || !chunk->is_null()) {
    c.chunk = unwrap(json.int_or("attention_chunk_size", kChunk, 1, kMaxContext));
  }
  c.chunked = read_windowed(
      json, c, [&](int64_t layer) { return c.chunk > 0 && c.turned[static_cast<size_t>(layer)]; },
      "chunked_attention");
  if (unwrap(json.bool_or("attn_temperature_tuning", true))) {
    c.growth = {.strength = unwrap(json.float_or("attn_scale", 0.1, 0, 1e6)),
                .step = unwrap(json.float_or("floor_scale", 8192, 1, 1e12)),
                .offset = 1};
  }
  c.sparse = read_sparse(json, c);
  ExpertConfig& experts = c.experts;
  experts.experts = read_experts(json, "num_local_experts", kExperts, 1, c, notes);
  experts.per_token =
      int_or_default(json, "num_experts_per_tok", std::min(kExpertsPerToken, experts.experts), 1,
                     experts.experts, notes);
  experts.inner = c.intermediate;
  experts.activation = c.activation;
  experts.router = {.scores = RouterConfig::Scores::kSigmoid, .path = "router"};
  experts.stacked = {.transposed = true};
  experts.scales_input = true;
  DecoderModel model = decoder_model("llama4_text", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::llama4
