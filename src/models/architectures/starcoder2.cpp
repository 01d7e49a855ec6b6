// StarCoder 2: layer norms, biases, a plain feed-forward part, and optionally a window (Lozhkov et
// al. 2024; the layout and names of Hugging Face's Starcoder2ForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::starcoder2 {

using relax::Variable;

namespace {

// From transformers' Starcoder2Config.
constexpr DecoderDefaults kDefaults = {.vocabulary = 49152,
                                       .hidden = 3072,
                                       .layers = 30,
                                       .heads = 24,
                                       .kv_heads = 2,
                                       .context = 4096,
                                       .intermediate = 12288,
                                       .norm_epsilon_key = "norm_epsilon",
                                       .norm_epsilon = 1e-5,
                                       .activation = "gelu_pytorch_tanh",
                                       .tied_embeddings = true};

Variable hidden_states(Graph& g, const DecoderConfig& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, layer_norm_of(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_of(c));
        },
        [&](const Variable& y) {
          return feed_forward(g, path + ".mlp", y,
                              {.inner = c.intermediate,
                               .activation = c.activation,
                               .bias = c.output_bias,
                               .up = "c_fc",
                               .down = "c_proj"});
        });
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  DecoderConfig c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("use_bias", true));
  c.window = read_window(json, c, 0);
  DecoderModel model = decoder_model("starcoder2", c);
  model.logits = logits_of(c, layer_norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::starcoder2
