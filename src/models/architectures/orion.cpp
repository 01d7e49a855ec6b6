// Orion: Llama with layer norms that have a bias (Chen et al. 2024; the layout and names of the
// published folders' OrionForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::orion {

using relax::Variable;

namespace {

// From Orion-14B's config.json. Its norms take the epsilon of "rms_norm_eps", though they are layer
// norms.
constexpr DecoderDefaults kDefaults = {.vocabulary = 84608,
                                       .hidden = 5120,
                                       .layers = 40,
                                       .heads = 40,
                                       .kv_heads = 0,
                                       .context = 4096,
                                       .intermediate = 15360,
                                       .norm_epsilon = 1e-5,
                                       .scalings = RopeScalings::kLinearAndDynamic};

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
          return gated_feed_forward(g, path + ".mlp", y, feed_forward_of(c));
        });
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  DecoderConfig c;
  read_decoder(json, kDefaults, c, notes);
  refuse_set(json, "attention_bias", "is true: biases of the attention are not supported");
  DecoderModel model = decoder_model("orion", c);
  model.logits = logits_of(c, layer_norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::orion
