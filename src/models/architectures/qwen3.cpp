// Qwen 3: Llama with a norm on each head of q and k, and optionally a window in the upper layers
// (Yang et al. 2025; the layout and names of Hugging Face's Qwen3ForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::qwen3 {

using relax::Variable;

namespace {

// From transformers' Qwen3Config.
constexpr DecoderDefaults kDefaults = {.vocabulary = 151936,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 32,
                                       .head_dim = 128,
                                       .context = 32768,
                                       .intermediate = 22016};

AttentionConfig attention_of_layer(const DecoderConfig& c, int64_t layer) {
  AttentionConfig config = attention_of(c, layer);
  config.qk_norm = QkNorm::kHeads;
  return config;
}

Variable hidden_states(Graph& g, const DecoderConfig& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_of_layer(c, layer));
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
  read_upper_windows(json, c);
  DecoderModel model = decoder_model("qwen3", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::qwen3
