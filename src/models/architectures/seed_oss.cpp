// Seed-OSS: Llama with biases of the attention as two options (ByteDance 2025; the layout and names
// of Hugging Face's SeedOssForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::seed_oss {

using relax::Variable;

namespace {

// From transformers' SeedOssConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 155136,
                                       .hidden = 4096,
                                       .layers = 64,
                                       .heads = 80,
                                       .kv_heads = 8,
                                       .head_dim = 128,
                                       .context = 524288,
                                       .intermediate = 27648};

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
        [&](const Variable& y) { return gated_feed_forward(g, path + ".mlp", y, mlp); });
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = unwrap(json.bool_or("attention_bias", true));
  c.output_bias = unwrap(json.bool_or("attention_out_bias", false));
  c.mlp_bias = unwrap(json.bool_or("mlp_bias", false));
  DecoderModel model = decoder_model("seed_oss", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::seed_oss
