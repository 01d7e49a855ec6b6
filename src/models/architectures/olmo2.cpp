// OLMo 2: Llama with a norm of all of q and of all of k, and norms after the parts of a layer in
// place of before (OLMo Team 2025; the layout and names of Hugging Face's Olmo2ForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::olmo2 {

using relax::Variable;

namespace {

// From transformers' Olmo2Config.
constexpr DecoderDefaults kDefaults = {.vocabulary = 50304,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 0,
                                       .context = 2048,
                                       .intermediate = 11008,
                                       .norm_epsilon = 1e-5};

AttentionConfig attention_of_layer(const DecoderConfig& c) {
  AttentionConfig config = attention_of(c);
  config.qk_norm = QkNorm::kWhole;
  return config;
}

Variable hidden_states(Graph& g, const DecoderConfig& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = post_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_of_layer(c));
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
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  DecoderModel model = decoder_model("olmo2", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::olmo2
