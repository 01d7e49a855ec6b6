// Phi 1, 1.5 and 2: layer norms, biases, both parts of a layer beside each other, a rotation of a
// part of each head, a head with a bias (Gunasekar et al. 2023; the layout and names of Hugging
// Face's PhiForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::phi {

using relax::Variable;

namespace {

// From transformers' PhiConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 51200,
                                       .hidden = 2048,
                                       .layers = 24,
                                       .heads = 32,
                                       .kv_heads = 0,
                                       .context = 2048,
                                       .intermediate = 8192,
                                       .norm_epsilon_key = "layer_norm_eps",
                                       .norm_epsilon = 1e-5,
                                       .partial_rotary = 0.5,
                                       .activation = "gelu_new"};

Variable hidden_states(Graph& g, const DecoderConfig& c) {
  AttentionConfig attention_config = attention_of(c);
  attention_config.qkv_bias = attention_config.output_bias = true;
  attention_config.output = "dense";
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = parallel_layer(
        g, path, x, layer_norm_of(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_config);
        },
        [&](const Variable& y) {
          return feed_forward(g, path + ".mlp", y,
                              {.inner = c.intermediate,
                               .activation = c.activation,
                               .bias = true,
                               .up = "fc1",
                               .down = "fc2"});
        });
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  DecoderConfig c;
  read_decoder(json, kDefaults, c, notes);
  refuse_set(json, "qk_layernorm", "is true: a layer norm of heads is not supported");
  DecoderModel model = decoder_model("phi", c);
  model.last_norm = "model.final_layernorm";
  model.logits = logits_of(c, layer_norm_of(c), {.bias = true}, model);
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::phi
