// Nemotron 3 and 4, Minitron: layer norms by 1 + weight, a plain feed-forward part with squared
// ReLU, a rotation of a part of each head (Parmar et al. 2024; the layout and names of Hugging
// Face's NemotronForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::nemotron {

using relax::Variable;

namespace {

// From transformers' NemotronConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 256000,
                                       .hidden = 6144,
                                       .layers = 32,
                                       .heads = 48,
                                       .kv_heads = 0,
                                       .context = 4096,
                                       .intermediate = 24576,
                                       .norm_epsilon_key = "norm_eps",
                                       .norm_epsilon = 1e-5,
                                       .partial_rotary = 0.5,
                                       .activation = "relu2"};

struct Config : DecoderConfig {
  bool mlp_bias = false;
};

NormConfig layer_norm(const DecoderConfig& c) {
  return {.kind = NormConfig::Kind::kLayer,
          .epsilon = c.norm_epsilon,
          .one_plus_weight = true,
          .bias = true};
}

Variable hidden_states(Graph& g, const Config& c) {
  FeedForwardConfig mlp = feed_forward_of(c);
  mlp.bias = c.mlp_bias;
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, layer_norm(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_of(c));
        },
        [&](const Variable& y) { return feed_forward(g, path + ".mlp", y, mlp); });
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  c.mlp_bias = unwrap(json.bool_or("mlp_bias", false));
  DecoderModel model = decoder_model("nemotron", c);
  model.logits = logits_of(c, layer_norm(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::nemotron
