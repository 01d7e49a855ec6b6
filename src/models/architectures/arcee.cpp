// Arcee's AFM: Llama with a plain feed-forward part with squared ReLU (Arcee 2025; the layout and
// names of Hugging Face's ArceeForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::arcee {

using relax::Variable;

namespace {

// From transformers' ArceeConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 32000,
                                       .hidden = 2560,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 0,
                                       .context = 4096,
                                       .intermediate = 18432,
                                       .norm_epsilon = 1e-5,
                                       .activation = "relu2"};

struct Config : DecoderConfig {
  bool mlp_bias = false;
};

Variable hidden_states(Graph& g, const Config& c) {
  FeedForwardConfig mlp = feed_forward_of(c);
  mlp.bias = c.mlp_bias;
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_of(c));
        },
        [&](const Variable& y) { return feed_forward(g, path + ".mlp", y, mlp); });
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  c.mlp_bias = unwrap(json.bool_or("mlp_bias", false));
  DecoderModel model = decoder_model("arcee", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::arcee
