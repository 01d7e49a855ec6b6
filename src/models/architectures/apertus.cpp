// Apertus: Llama with norms of the heads of q and k and a plain feed-forward part, whose activation
// each layer learns (Swiss AI 2025; the layout and names of Hugging Face's ApertusForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::apertus {

using relax::Variable;

namespace {

// From transformers' ApertusConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 131072,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 0,
                                       .context = 65536,
                                       .intermediate = 14336,
                                       .norm_epsilon = 1e-5,
                                       .theta = 12e6,
                                       .activation = "xielu"};
constexpr double kFactor = 8;
constexpr int64_t kOriginalContext = 8192;

AttentionConfig attention_of_layer(const DecoderConfig& c) {
  AttentionConfig config = attention_of(c);
  config.qk_norm = QkNorm::kHeads;
  return config;
}

Variable hidden_states(Graph& g, const DecoderConfig& c) {
  constexpr PreNormNames kNorms = {"attention_layernorm", "feedforward_layernorm"};
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_of_layer(c));
        },
        [&](const Variable& y) { return feed_forward(g, path + ".mlp", y, feed_forward_of(c)); },
        kNorms);
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  DecoderConfig c;
  read_decoder(json, kDefaults, c, notes);
  // Without fields of the rotation, those of the class.
  if (!rope_fields(json)) {
    c.rope = {.theta = kDefaults.theta,
              .scaling = RopeConfig::Scaling::kLlama3,
              .factor = kFactor,
              .original_context = kOriginalContext};
  }
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  DecoderModel model = decoder_model("apertus", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::apertus
