// GLM 4.5 and 4.6: attention with rotary positions in half of a head, and DeepSeek V3's experts
// (GLM-4.5 team 2025; the layout and names of transformers' Glm4MoeForCausalLM). dots.llm1 has the
// same parts, with whole heads that turn (Huo et al. 2025; Dots1ForCausalLM).
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

// From transformers' Dots1Config.
constexpr DecoderDefaults kDots1 = {.vocabulary = 152064,
                                    .hidden = 4608,
                                    .layers = 62,
                                    .heads = 32,
                                    .kv_heads = 32,
                                    .context = 2048,
                                    .intermediate = 10944};
constexpr int64_t kDots1Window = 4096, kDots1FullLayers = 62;

struct Config : DecoderConfig {
  bool qk_norm = false;
  DeepseekExperts experts;
};

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          AttentionConfig config = attention_of(c, layer);
          if (c.qk_norm) config.qk_norm = QkNorm::kHeads;
          return attention(g, layer, path + ".self_attn", y, config);
        },
        [&](const Variable& y) {
          return deepseek_feed_forward(g, layer, path + ".mlp", y, c, c.experts);
        });
  }
  return x;
}

void read_experts(const JsonObjectReader& json, const DeepseekExpertDefaults& defaults,
                  bool renormalize, Config& c, ConfigNotes& notes) {
  c.experts = read_deepseek_experts(json, defaults, c, notes);
  RouterConfig& router = c.experts.routed.router;
  router.scores = RouterConfig::Scores::kSigmoid;
  router.correction = "gate.e_score_correction_bias";
  router.renormalize = unwrap(json.bool_or("norm_topk_prob", renormalize));
}

DecoderModel model_of(const char* architecture, const Config& c) {
  DecoderModel model = decoder_model(architecture, c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = unwrap(json.bool_or("attention_bias", false));
  c.qk_norm = unwrap(json.bool_or("use_qk_norm", false));
  read_experts(json, kExpertDefaults, true, c, notes);
  return model_of("glm4_moe", c);
}

DecoderModel read_dots1(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDots1, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  c.qk_norm = true;
  c.window = read_window(json, c, kDots1Window);
  const int64_t full = unwrap(json.int_or("max_window_layers", kDots1FullLayers, 0, kMaxLayers));
  c.windowed = read_windowed(json, c, [&](int64_t layer) { return layer >= full; });
  // The class has no numbers of experts.
  unwrap(json.required_int("n_routed_experts", 1));
  read_experts(json, {.inner = 1408, .shared = 0}, false, c, notes);
  return model_of("dots1", c);
}

}  // namespace tapml::models::glm4_moe
