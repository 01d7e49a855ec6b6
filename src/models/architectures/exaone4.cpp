// EXAONE 4: norms after the parts of a layer, norms of the heads of q and k, and optionally a
// window in three of four layers, which alone have positions then (LG AI Research 2025; the layout
// and names of Hugging Face's Exaone4ForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::exaone4 {

using relax::Variable;

namespace {

// From transformers' Exaone4Config.
constexpr DecoderDefaults kDefaults = {.vocabulary = 102400,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 32,
                                       .context = 2048,
                                       .intermediate = 16384,
                                       .norm_epsilon = 1e-5};

constexpr int64_t kWindow = 4096;
constexpr int64_t kPattern = 4;

struct Config : DecoderConfig {
  bool rotates_all = false;  // without a window; else layers with it rotate
};

AttentionConfig attention_of_layer(const Config& c, int64_t layer) {
  AttentionConfig config = attention_of(c, layer);
  if (!c.rotates_all && !c.windowed[static_cast<size_t>(layer)]) config.rope.reset();
  config.qk_norm = QkNorm::kHeads;
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
  const Json* window = json.json().find("sliding_window");
  c.rotates_all = window && window->is_null();
  // Some files have a text such as "LLLG" here, beside layer_types.
  const Json* given = json.find("sliding_window_pattern");
  const int64_t pattern = given && given->is_string()
                              ? kPattern
                              : unwrap(json.int_or("sliding_window_pattern", kPattern,
                                                   c.rotates_all ? 0 : 1, kMaxLayers));
  c.window = read_window(json, c, kWindow);
  c.windowed = read_windowed(
      json, c, [&](int64_t layer) { return !c.rotates_all && (layer + 1) % pattern != 0; });
  DecoderModel model = decoder_model("exaone4", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::exaone4
