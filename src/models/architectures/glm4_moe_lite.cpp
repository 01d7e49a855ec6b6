// GLM 4.7 Flash: the latent attention and the experts of DeepSeek V3 (Z.ai 2026; the layout and
// names of Hugging Face's Glm4MoeLiteForCausalLM).
#include <algorithm>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/architectures/deepseek.h"

namespace tapml::models::glm4_moe_lite {

namespace {

// From transformers' Glm4MoeLiteConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 154880,
                                       .hidden = 2048,
                                       .layers = 47,
                                       .heads = 20,
                                       .head_dim = 64,
                                       .context = 202752,
                                       .intermediate = 10240,
                                       .head_dim_key = "qk_rope_head_dim",
                                       .norm_epsilon = 1e-5};
constexpr LatentDefaults kLatent = {
    .query_rank = 768, .rank = 512, .plain_width = 192, .value_width = 256};
constexpr DeepseekExpertDefaults kExperts = {
    .experts = 64, .per_token = 4, .inner = 1536, .scale = 1.8, .first_key = nullptr};

// The number of layers without experts, which come before all others.
int64_t read_first(const JsonObjectReader& json, const DecoderConfig& c) {
  const char* key = "mlp_layer_types";
  const std::vector<bool> sparse =
      read_layer_types(json, c, "sparse", "dense", [](int64_t layer) { return layer > 0; }, key);
  const auto first = std::ranges::find(sparse, true);
  if (std::find(first, sparse.end(), false) != sparse.end()) {
    throw_error(json.field_error(key, "has a dense layer after a sparse one",
                                 "all dense layers before the sparse ones"));
  }
  return first - sparse.begin();
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  DeepseekConfig c;
  read_decoder(json, kDefaults, c, notes);
  c.rope.interleaved = unwrap(json.bool_or("rope_interleave", true));
  c.latent = read_latent_attention(json, kLatent, c, notes);
  c.experts = read_deepseek_experts(json, kExperts, c, notes);
  c.experts.first = read_first(json, c);
  RouterConfig& router = c.experts.routed.router;
  router.scores = RouterConfig::Scores::kSigmoid;
  router.correction = "gate.e_score_correction_bias";
  router.renormalize = unwrap(json.bool_or("norm_topk_prob", true));
  return deepseek_model("glm4_moe_lite", c);
}

}  // namespace tapml::models::glm4_moe_lite
