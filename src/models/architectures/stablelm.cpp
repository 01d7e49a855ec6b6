// StableLM: Llama with layer norms, a rotation of a part of each head, and optionally both parts of
// a layer beside each other (Bellagente et al. 2024; the layout and names of Hugging Face's
// StableLmForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::stablelm {

using relax::Variable;

namespace {

// From transformers' StableLmConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 50304,
                                       .hidden = 2560,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 32,
                                       .context = 4096,
                                       .intermediate = 6912,
                                       .norm_epsilon_key = "layer_norm_eps",
                                       .norm_epsilon = 1e-5,
                                       .partial_rotary = 0.25};

struct Config : DecoderConfig {
  bool parallel = false;
};

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    const auto mix = [&](const Variable& y) {
      return attention(g, layer, path + ".self_attn", y, attention_of(c));
    };
    const auto feed = [&](const Variable& y) {
      return gated_feed_forward(g, path + ".mlp", y, feed_forward_of(c));
    };
    x = c.parallel ? parallel_layer(g, path, x, layer_norm_of(c), mix, feed)
                   : pre_norm_layer(g, path, x, layer_norm_of(c), mix, feed);
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = unwrap(json.bool_or("use_qkv_bias", false));
  c.parallel = unwrap(json.bool_or("use_parallel_residual", false));
  refuse_set(json, "qk_layernorm", "is true: a norm for each head is not supported");
  DecoderModel model = decoder_model("stablelm", c);
  model.logits = logits_of(c, layer_norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::stablelm
