// Nemotron 3 and 4, Minitron: layer norms by 1 + weight, a plain feed-forward part with squared
// ReLU, a rotation of a part of each head (Parmar et al. 2024); and Jais 2, with usual layer norms
// and a rotation of whole heads (2025). The layout and names of Hugging Face's NemotronForCausalLM
// and Jais2ForCausalLM.
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

// From transformers' Jais2Config.
constexpr DecoderDefaults kJais2 = {.vocabulary = 150272,
                                    .hidden = 3328,
                                    .layers = 32,
                                    .heads = 26,
                                    .kv_heads = 0,
                                    .context = 8192,
                                    .intermediate = 26624,
                                    .norm_epsilon_key = "layer_norm_eps",
                                    .norm_epsilon = 1e-5,
                                    .activation = "relu2"};

struct Config : DecoderConfig {
  bool mlp_bias = false;
  bool one_plus_weight = false;  // in norms
};

NormConfig layer_norm(const Config& c) {
  NormConfig config = layer_norm_of(c);
  config.one_plus_weight = c.one_plus_weight;
  return config;
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

DecoderModel read_model(const JsonObjectReader& json, const char* architecture,
                        const DecoderDefaults& defaults, bool has_biases, Config c,
                        ConfigNotes& notes) {
  read_decoder(json, defaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", has_biases));
  c.mlp_bias = unwrap(json.bool_or("mlp_bias", has_biases));
  DecoderModel model = decoder_model(architecture, c);
  model.logits = logits_of(c, layer_norm(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  c.one_plus_weight = true;
  return read_model(json, "nemotron", kDefaults, false, c, notes);
}

DecoderModel read_jais2(const JsonObjectReader& json, ConfigNotes& notes) {
  return read_model(json, "jais2", kJais2, true, {}, notes);
}

}  // namespace tapml::models::nemotron
