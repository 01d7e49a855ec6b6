// GLM 4: a rotation of neighbors in a part of each head, one matrix for gate and up (Zhipu 2024;
// the layout and names of Hugging Face's GlmForCausalLM), and GLM 4 of 0414, which has a norm after
// both parts of a layer too (Glm4ForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::glm4 {

using relax::Variable;

namespace {

// From transformers' Glm4Config.
constexpr DecoderDefaults kDefaults = {.vocabulary = 151552,
                                       .hidden = 4096,
                                       .layers = 40,
                                       .heads = 32,
                                       .kv_heads = 2,
                                       .head_dim = 128,
                                       .context = 131072,
                                       .intermediate = 13696,
                                       .norm_epsilon = 1.5625e-7,
                                       .partial_rotary = 0.5};

Variable hidden_states(Graph& g, const DecoderConfig& c, bool norms_after) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    const auto mix = [&](const Variable& y) {
      return attention(g, layer, path + ".self_attn", y, attention_of(c));
    };
    const auto feed = [&](const Variable& y) {
      return fused_gated_feed_forward(g, path + ".mlp", y, feed_forward_of(c));
    };
    if (!norms_after) {
      x = pre_norm_layer(g, path, x, norm_of(c), mix, feed);
      continue;
    }
    x = sandwich_layer(g, path, x, norm_of(c), mix, feed,
                       {.after_mix = "post_self_attn_layernorm",
                        .before_feed = "post_attention_layernorm",
                        .after_feed = "post_mlp_layernorm"});
  }
  return x;
}

DecoderModel read_model(const char* architecture, const JsonObjectReader& json, bool norms_after,
                        ConfigNotes& notes) {
  DecoderConfig c;
  read_decoder(json, kDefaults, c, notes);
  c.rope.interleaved = true;
  c.qkv_bias = unwrap(json.bool_or("attention_bias", true));
  DecoderModel model = decoder_model(architecture, c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c, norms_after](Graph& g) { return hidden_states(g, c, norms_after); };
  return model;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  return read_model("glm4", json, true, notes);
}

DecoderModel read_glm(const JsonObjectReader& json, ConfigNotes& notes) {
  return read_model("glm", json, false, notes);
}

}  // namespace tapml::models::glm4
