// Phi 3 and 4-mini: Llama with one matrix for q, k and v and one for gate and up, and a rotation of
// a part of each head (Abdin et al. 2024; the layout and names of Hugging Face's Phi3ForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::phi3 {

using relax::Variable;

namespace {

// From transformers' Phi3Config.
constexpr DecoderDefaults kDefaults = {.vocabulary = 32064,
                                       .hidden = 3072,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 0,
                                       .context = 4096,
                                       .intermediate = 8192,
                                       .norm_epsilon = 1e-5,
                                       .partial_rotary = 1,
                                       .original_context = 4096,
                                       .yarn_is_longrope = true};

Variable hidden_states(Graph& g, const DecoderConfig& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return fused_qkv_attention(g, layer, path + ".self_attn", y, attention_of(c));
        },
        [&](const Variable& y) {
          return fused_gated_feed_forward(g, path + ".mlp", y, feed_forward_of(c));
        });
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  DecoderConfig c;
  read_decoder(json, kDefaults, c, notes);
  c.window = read_window(json, c, 0);
  DecoderModel model = decoder_model("phi3", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::phi3
