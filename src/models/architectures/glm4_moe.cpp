// GLM 4.5 and 4.6: attention with rotary positions in half of a head, and DeepSeek V3's experts
// (GLM-4.5 team 2025; the layout and names of transformers' Glm4MoeForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/architectures/deepseek.h"
#include "models/blocks/layer.h"

namespace tapml::models::glm4_moe {

using relax::Variable;

namespace {

// From transformers' Glm4MoeConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 151552,
                                       .hidden = 4096,
                                       .layers = 46,
                                       .heads = 96,
                                       .kv_heads = 8,
                                       .context = 131072,
                                       .intermediate = 10944,
                                       .norm_epsilon = 1e-5,
                                       .partial_rotary = 0.5};
constexpr DeepseekExpertDefaults kExpertDefaults = {
    .experts = 128, .per_token = 8, .inner = 1408, .first = 1};

struct Config : DecoderConfig {
  bool qk_norm = false;
  DeepseekExperts experts;
};

Variable hidden_states(Graph& g, const Config& c) {
  AttentionConfig attention_config = attention_of(c);
  if (c.qk_norm) attention_config.qk_norm = QkNorm::kHeads;
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_config);
        },
        [&](const Variable& y) {
          return deepseek_feed_forward(g, layer, path + ".mlp", y, c, c.experts);
        });
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = unwrap(json.bool_or("attention_bias", false));
  c.qk_norm = unwrap(json.bool_or("use_qk_norm", false));
  c.experts = read_deepseek_experts(json, kExpertDefaults, c, notes);
  RouterConfig& router = c.experts.routed.router;
  router.scores = RouterConfig::Scores::kSigmoid;
  router.correction = "gate.e_score_correction_bias";
  router.renormalize = unwrap(json.bool_or("norm_topk_prob", true));
  DecoderModel model = decoder_model("glm4_moe", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::glm4_moe
