// ERNIE 4.5, dense: Llama with a rotation of neighbors, and optionally biases everywhere (Baidu
// 2025; the layout and names of Hugging Face's Ernie4_5ForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::ernie4_5 {

using relax::Variable;

namespace {

// From transformers' Ernie4_5Config.
constexpr DecoderDefaults kDefaults = {.vocabulary = 103424,
                                       .hidden = 1024,
                                       .layers = 18,
                                       .heads = 16,
                                       .kv_heads = 2,
                                       .head_dim = 128,
                                       .context = 131072,
                                       .intermediate = 3072,
                                       .norm_epsilon = 1e-5,
                                       .theta = 500000,
                                       .tied_embeddings = true};

Variable hidden_states(Graph& g, const DecoderConfig& c) {
  FeedForwardConfig mlp = feed_forward_of(c);
  mlp.bias = c.qkv_bias;
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_of(c));
        },
        [&](const Variable& y) { return gated_feed_forward(g, path + ".mlp", y, mlp); });
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  DecoderConfig c;
  read_decoder(json, kDefaults, c, notes);
  c.rope.interleaved = true;
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("use_bias", false));
  DecoderModel model = decoder_model("ernie4_5", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::ernie4_5
