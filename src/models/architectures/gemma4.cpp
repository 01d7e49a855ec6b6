// Gemma 4, the language model alone: Gemma 3 with wider heads in the layers without a window, where
// a part of the pairs turns and keys may serve as values, norms of values, last layers that attend
// to the keys and values of earlier ones, an embedding of the tokens for each layer, experts beside
// the dense parts, and a factor of each layer (Gemma Team 2026; the layout and names of Hugging
// Face's Gemma4ForCausalLM).
#include "models/architectures/gemma4.h"

#include <cmath>

#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::gemma4 {

using relax::Variable;

namespace {

AttentionConfig attention_of_layer(const Config& c, int64_t layer) {
  const auto index = static_cast<size_t>(layer);
  AttentionConfig config = attention_of(c, layer);
  if (c.windowed[index]) {
    config.rope = make_rope(c.local_rope, c.head_dim);
  } else {
    config.head_dim = c.global_head_dim;
    config.kv_heads = c.global_kv_heads;
    config.rope = make_rope(c.rope, c.global_head_dim);
    config.keys_are_values = c.keys_are_values;
  }
  config.scale = 1;
  config.qk_norm = QkNorm::kHeads;
  config.value_norm = true;
  config.shared_layer = c.shared_layer[index];
  return config;
}

FeedForwardConfig feed_forward_of_layer(const Config& c, int64_t layer) {
  FeedForwardConfig config = feed_forward_of(c);
  if (c.wide_where_shared && c.shared_layer[static_cast<size_t>(layer)] >= 0) config.inner *= 2;
  return config;
}

// The dense part of the normed x, and, where there are experts, what they make of x itself.
Variable feed(Graph& g, const Config& c, int64_t layer, const std::string& path,
              const Variable& x) {
  const auto norm_at = [&](const char* name, const Variable& y) {
    return norm(g, path + name, y, norm_of(c));
  };
  const Variable dense = gated_feed_forward(
      g, path + ".mlp", norm_at(".pre_feedforward_layernorm", x), feed_forward_of_layer(c, layer));
  if (!c.experts) return dense;
  NormConfig weightless = norm_of(c);
  weightless.weightless = true;
  Variable routed = norm(g, path + ".router.norm", x, weightless);
  g.origin(path + ".router");
  const Variable factors = g.stored_weight({path + ".router.scale", {c.hidden}, {}});
  routed = g.narrowed(g.op("multiply", {routed, factors}));
  routed = g.scaled(routed, 1 / std::sqrt(static_cast<double>(c.hidden)));
  const Variable chosen =
      g.narrowed(experts(g, path, norm_at(".pre_feedforward_layernorm_2", x), *c.experts, routed));
  const Variable own = norm_at(".post_feedforward_layernorm_1", dense);
  return residual(g, path, own, norm_at(".post_feedforward_layernorm_2", chosen));
}

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  x = g.scaled(x, std::sqrt(static_cast<double>(c.hidden)));
  std::vector<Variable> embeddings;
  if (c.per_layer.width > 0) embeddings = per_layer_embeddings(g, x, c.per_layer);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    const auto add_normed = [&](const char* name, const Variable& y) {
      x = residual(g, path, x, norm(g, path + name, y, norm_of(c)));
    };
    const Variable y = norm(g, path + ".input_layernorm", x, norm_of(c));
    add_normed(".post_attention_layernorm",
               attention(g, layer, path + ".self_attn", y, attention_of_layer(c, layer)));
    add_normed(".post_feedforward_layernorm", feed(g, c, layer, path, x));
    if (c.per_layer.width > 0) {
      const Variable& embedding = embeddings[static_cast<size_t>(layer)];
      x = residual(g, path, x, per_layer_part(g, path, x, embedding, c.per_layer));
    }
    g.origin(path);
    x = g.narrowed(g.op("multiply", {x, g.stored_weight({path + ".layer_scalar", {1}, {}})}));
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  const Config c = read_config(json, notes);
  DecoderModel model = decoder_model("gemma4_text", c);
  model.logits = logits_of(c, norm_of(c), {.soft_cap = c.logit_cap});
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::gemma4
