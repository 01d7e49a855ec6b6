// Helium: Llama whose rotations pair neighbors (Kyutai 2025; the layout and names of Hugging Face's
// HeliumForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::helium {

using relax::Variable;

namespace {

// From transformers' HeliumConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 48000,
                                       .hidden = 2560,
                                       .layers = 24,
                                       .heads = 20,
                                       .kv_heads = 20,
                                       .head_dim = 128,
                                       .context = 4096,
                                       .intermediate = 7040,
                                       .norm_epsilon = 1e-8,
                                       .theta = 100000};

struct Config : DecoderConfig {
  bool mlp_bias = false;
};

Variable hidden_states(Graph& g, const Config& c) {
  FeedForwardConfig mlp = feed_forward_of(c);
  mlp.bias = c.mlp_bias;
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_of(c));
        },
        [&](const Variable& y) { return gated_feed_forward(g, path + ".mlp", y, mlp); });
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.rope.interleaved = true;
  c.qkv_bias = unwrap(json.bool_or("attention_bias", false));
  c.mlp_bias = unwrap(json.bool_or("mlp_bias", false));
  DecoderModel model = decoder_model("helium", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::helium
