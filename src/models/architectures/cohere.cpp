// Command R: layer norms without bias, both parts of a layer beside each other, neighbors as the
// pairs that are rotated, and scaled logits (Cohere 2024; the layout and names of Hugging Face's
// CohereForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::cohere {

using relax::Variable;

namespace {

// From transformers' CohereConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 256000,
                                       .hidden = 8192,
                                       .layers = 40,
                                       .heads = 64,
                                       .kv_heads = 0,
                                       .context = 8192,
                                       .intermediate = 22528,
                                       .norm_epsilon_key = "layer_norm_eps",
                                       .norm_epsilon = 1e-5,
                                       .theta = 500000,
                                       .tied_embeddings = true};

constexpr double kLogitScale = 0.0625;

Variable hidden_states(Graph& g, const DecoderConfig& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = parallel_layer(
        g, path, x, layer_norm_of(c, false),
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
  c.rope.interleaved = true;
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  refuse_set(json, "use_qk_norm", "is true: a norm for each head is not supported");
  const double scale = unwrap(json.float_or("logit_scale", kLogitScale, 1e-9, 1e9));
  DecoderModel model = decoder_model("cohere", c);
  model.logits = logits_of(c, layer_norm_of(c, false), {.scale = scale});
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::cohere
