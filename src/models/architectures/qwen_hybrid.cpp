#include "models/architectures/qwen_hybrid.h"

#include <algorithm>

#include "ir/exceptions.h"
#include "models/blocks/layer.h"

namespace tapml::models {

using relax::make_shape;
using relax::Variable;

namespace {

NormConfig norm_by_one_plus(const DecoderConfig& c) {
  return {.epsilon = c.norm_epsilon, .one_plus_weight = true};
}

// q_proj gives a query and a gate for each head; the gates are of what the heads find.
Variable gated_attention(Graph& g, const QwenHybridConfig& c, int64_t layer,
                         const std::string& path, const Variable& x) {
  AttentionConfig config = attention_of(c);
  config.qk_norm = QkNorm::kHeads;
  config.norm = norm_by_one_plus(c);
  const auto project = [&](const char* name, int64_t heads, int64_t width) {
    const LinearConfig linear_config = {.bias = c.qkv_bias};
    return in_heads(g, linear(g, path + "." + name, x, heads * width, linear_config), heads, width);
  };
  const Variable both = project("q_proj", c.heads, 2 * c.head_dim);
  const Variable k = project("k_proj", c.kv_heads, c.head_dim);
  const Variable v = project("v_proj", c.kv_heads, c.head_dim);
  g.origin(path);
  const Variable parts = g.op("split", {both}, {{"axis", int64_t{-1}}, {"sections", int64_t{2}}});
  const Variable found = attend(g, layer, path, g.field(parts, 0), k, v, config);
  const Variable gate = g.op(
      "reshape", {g.field(parts, 1), make_shape({g.batch(), g.tokens(), config.query_width()})});
  const Variable gated = g.op("multiply", {found, g.op("sigmoid", {gate})});
  return linear(g, path + "." + config.output, gated, c.hidden, {.bias = c.output_bias});
}

Variable linear_attention(Graph& g, const QwenHybridConfig& c, int64_t layer,
                          const std::string& path, const Variable& x, DeltaNetProjector project) {
  const DeltaNetProjections given = project(g, c.delta, path, x);
  Variable qkv = short_convolution(g, "convolution." + std::to_string(layer), path + ".conv1d",
                                   given.qkv, c.convolution);
  g.origin(path);
  qkv = activate(g, qkv, c.activation);
  const int64_t keys = c.delta.key_width(), values = c.delta.value_width();
  const Variable parts = g.op(
      "split", {qkv}, {{"axis", int64_t{-1}}, {"sizes", std::vector<int64_t>{keys, keys, values}}});
  return delta_net(g, layer, path,
                   {.q = g.field(parts, 0),
                    .k = g.field(parts, 1),
                    .v = g.field(parts, 2),
                    .gate = given.gate,
                    .rate = given.rate,
                    .decay = given.decay},
                   c.hidden, c.delta);
}

Variable hidden_states(Graph& g, const QwenHybridConfig& c, DeltaNetProjector project) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    const auto index = static_cast<size_t>(layer);
    x = pre_norm_layer(
        g, path, x, norm_by_one_plus(c),
        [&](const Variable& y) {
          if (c.attends.at(index)) return gated_attention(g, c, layer, path + ".self_attn", y);
          return linear_attention(g, c, layer, path + ".linear_attn", y, project);
        },
        [&](const Variable& y) {
          const std::string own = path + ".mlp";
          if (!c.sparse.at(index)) return gated_feed_forward(g, own, y, feed_forward_of(c));
          return experts_with_shared(g, own, y, c.experts,
                                     {.inner = c.shared_intermediate, .gated = true});
        });
  }
  return x;
}

}  // namespace

QwenHybridConfig read_qwen_hybrid_config(const JsonObjectReader& json,
                                         const DecoderDefaults& defaults, ConfigNotes& notes) {
  QwenHybridConfig c;
  read_decoder(json, defaults, c, notes);
  const auto size = [&](const char* key, int64_t fallback, int64_t max) {
    return int_or_default(json, key, fallback, 1, max, notes);
  };
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  c.delta.key_heads = size("linear_num_key_heads", 16, kMaxDeltaHeads);
  c.delta.value_heads = size("linear_num_value_heads", 32, kMaxDeltaHeads);
  c.delta.key_size = size("linear_key_head_dim", 128, kMaxDeltaKeySize);
  c.delta.value_size = size("linear_value_head_dim", 128, kMaxWidth);
  c.convolution.kernel = size("linear_conv_kernel_dim", 4, kMaxShortKernel);
  check_divides(json, "linear_num_value_heads", c.delta.value_heads, c.delta.key_heads,
                "linear_num_key_heads");
  c.delta.norm_epsilon = c.norm_epsilon;
  const int64_t interval = unwrap(json.int_or("full_attention_interval", 4, 1, kMaxLayers));
  c.attends = read_layer_types(json, c, "full_attention", "linear_attention",
                               [&](int64_t layer) { return (layer + 1) % interval == 0; });
  c.sparse.assign(static_cast<size_t>(c.layers), false);
  return c;
}

void read_qwen_hybrid_experts(const JsonObjectReader& json, const ExpertDefaults& defaults,
                              int64_t min_experts, QwenHybridConfig& c, ConfigNotes& notes) {
  ExpertConfig& experts = c.experts;
  experts.activation = c.activation;
  experts.experts = read_experts(json, "num_experts", defaults.experts, min_experts, c, notes);
  if (experts.experts == 0) return;
  experts.per_token =
      int_or_default(json, "num_experts_per_tok", std::min(defaults.per_token, experts.experts), 1,
                     experts.experts, notes);
  experts.inner =
      int_or_default(json, "moe_intermediate_size", defaults.inner, 1, kMaxWidth, notes);
  c.shared_intermediate =
      int_or_default(json, "shared_expert_intermediate_size", defaults.shared, 0, kMaxWidth, notes);
}

DecoderModel qwen_hybrid_model(const char* architecture, const QwenHybridConfig& c,
                               DeltaNetProjector project) {
  DecoderModel model = decoder_model(architecture, c);
  model.programs = delta_net_program(c.delta);
  model.logits = logits_of(c, norm_by_one_plus(c));
  model.hidden_states = [c, project](Graph& g) { return hidden_states(g, c, project); };
  return model;
}

}  // namespace tapml::models
