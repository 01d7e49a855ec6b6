// Command R7B: Command R with a window in three of four layers, which alone have positions (Cohere
// 2024; the layout and names of Hugging Face's Cohere2ForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::cohere2 {

using relax::Variable;

namespace {

// From transformers' Cohere2Config.
constexpr DecoderDefaults kDefaults = {.vocabulary = 256000,
                                       .hidden = 8192,
                                       .layers = 40,
                                       .heads = 64,
                                       .kv_heads = 0,
                                       .context = 8192,
                                       .intermediate = 22528,
                                       .norm_epsilon_key = "layer_norm_eps",
                                       .norm_epsilon = 1e-5,
                                       .tied_embeddings = true};

constexpr double kLogitScale = 0.0625;
constexpr int64_t kWindow = 4096;
constexpr int64_t kPattern = 4;

AttentionConfig attention_of_layer(const DecoderConfig& c, int64_t layer) {
  AttentionConfig config = attention_of(c, layer);
  if (!c.windowed[static_cast<size_t>(layer)]) config.rope.reset();
  return config;
}

Variable hidden_states(Graph& g, const DecoderConfig& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = parallel_layer(
        g, path, x, layer_norm_of(c, false),
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
  c.rope.interleaved = true;
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  const double scale = unwrap(json.float_or("logit_scale", kLogitScale, 1e-9, 1e9));
  // A layer with a window that the context does not reach still has positions.
  const int64_t pattern = unwrap(json.int_or("sliding_window_pattern", kPattern, 1, kMaxLayers));
  c.window = read_window(json, c, kWindow);
  c.windowed = read_windowed(json, c, [&](int64_t layer) { return (layer + 1) % pattern != 0; });
  DecoderModel model = decoder_model("cohere2", c);
  model.logits = logits_of(c, layer_norm_of(c, false), {.scale = scale});
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::cohere2
