// OLMo 3: OLMo 2 with a window in three of four layers, and scaled rotations in the others (OLMo
// Team 2025; the layout and names of Hugging Face's Olmo3ForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::olmo3 {

using relax::Variable;

namespace {

// From transformers' Olmo3Config.
constexpr DecoderDefaults kDefaults = {.vocabulary = 50304,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 0,
                                       .context = 2048,
                                       .intermediate = 11008,
                                       .norm_epsilon = 1e-5,
                                       .theta = 500000};

constexpr int64_t kWindow = 4096;
constexpr int64_t kPattern = 4;

struct Config : DecoderConfig {  // `rope` is of the layers without a window
  RopeConfig local_rope;
};

AttentionConfig attention_of_layer(const Config& c, int64_t layer) {
  AttentionConfig config = attention_of(c, layer);
  if (c.windowed[static_cast<size_t>(layer)]) config.rope = make_rope(c.local_rope, c.head_dim);
  config.qk_norm = QkNorm::kWhole;
  return config;
}

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = post_norm_layer(
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
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  c.window = read_window(json, c, kWindow);
  c.windowed = read_windowed(json, c, [](int64_t layer) { return (layer + 1) % kPattern != 0; });
  // As in transformers, rope_theta is of the layers without a window alone.
  c.local_rope.theta = kDefaults.theta;
  read_layer_rotations(json, c, c.local_rope, notes);
  DecoderModel model = decoder_model("olmo3", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::olmo3
