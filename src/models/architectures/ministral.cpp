// Ministral: Mistral with a window in some layers (Mistral AI 2024; the layout and names of Hugging
// Face's MinistralForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::ministral {

using relax::Variable;

namespace {

// From transformers' MinistralConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 32000,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 8,
                                       .context = 131072,
                                       .intermediate = 14336};

constexpr int64_t kWindow = 4096;

Variable hidden_states(Graph& g, const DecoderConfig& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_of(c, layer));
        },
        [&](const Variable& y) {
          return gated_feed_forward(g, path + ".mlp", y, feed_forward_of(c));
        });
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  DecoderConfig c;
  read_decoder(json, kDefaults, c, notes);
  c.window = read_window(json, c, kWindow);
  c.windowed = read_windowed(json, c, [](int64_t) { return true; });
  DecoderModel model = decoder_model("ministral", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::ministral
