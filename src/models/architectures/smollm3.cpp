// SmolLM 3: Llama without positions in every fourth layer, and optionally a window there (Hugging
// Face 2025; the layout and names of Hugging Face's SmolLM3ForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::smollm3 {

using relax::Variable;

namespace {

// From transformers' SmolLM3Config.
constexpr DecoderDefaults kDefaults = {.vocabulary = 128256,
                                       .hidden = 2048,
                                       .layers = 36,
                                       .heads = 16,
                                       .kv_heads = 4,
                                       .context = 32768,
                                       .intermediate = 11008,
                                       .theta = 2e6,
                                       .tied_embeddings = true};

constexpr int64_t kInterval = 4;

struct Config : DecoderConfig {
  std::vector<bool> rotates;  // by layer
  bool mlp_bias = false;
};

AttentionConfig attention_of_layer(const Config& c, int64_t layer) {
  AttentionConfig config = attention_of(c, layer);
  if (!c.rotates[static_cast<size_t>(layer)]) config.rope.reset();
  return config;
}

FeedForwardConfig mlp_of(const Config& c) {
  FeedForwardConfig config = feed_forward_of(c);
  config.bias = c.mlp_bias;
  return config;
}

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_of_layer(c, layer));
        },
        [&](const Variable& y) { return gated_feed_forward(g, path + ".mlp", y, mlp_of(c)); });
  }
  return x;
}

// "no_rope_layers" has a 1 for each layer that rotates.
std::vector<bool> read_rotating_layers(const JsonObjectReader& json, int64_t layers) {
  std::vector<bool> rotates;
  if (!json.has("no_rope_layers")) {
    const int64_t interval =
        unwrap(json.int_or("no_rope_layer_interval", kInterval, 1, kMaxLayers));
    for (int64_t layer = 0; layer < layers; ++layer) rotates.push_back((layer + 1) % interval != 0);
    return rotates;
  }
  const auto given = unwrap(json.required_int_array("no_rope_layers", 0, 1));
  if (std::ssize(given) < layers) {
    throw_error(json.field_error("no_rope_layers", "has fewer entries than layers",
                                 "at least " + std::to_string(layers)));
  }
  for (int64_t layer = 0; layer < layers; ++layer) {
    rotates.push_back(given[static_cast<size_t>(layer)] == 1);
  }
  return rotates;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  c.mlp_bias = unwrap(json.bool_or("mlp_bias", false));
  c.rotates = read_rotating_layers(json, c.layers);
  if (unwrap(json.bool_or("use_sliding_window", false))) c.window = read_window(json, c, 0);
  c.windowed =
      read_windowed(json, c, [&](int64_t layer) { return !c.rotates[static_cast<size_t>(layer)]; });
  DecoderModel model = decoder_model("smollm3", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::smollm3
