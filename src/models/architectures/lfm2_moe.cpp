// LFM 2 with experts: routed by sigmoid scores with a correction for the choice, in all layers but
// the first ones (Liquid AI 2025; the layout and names of Hugging Face's Lfm2MoeForCausalLM).
#include <algorithm>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/architectures/lfm2.h"

namespace tapml::models::lfm2_moe {

namespace {

// From transformers' Lfm2MoeConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 65536,
                                       .hidden = 2048,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 8,
                                       .context = 128000,
                                       .intermediate = 7168,
                                       .norm_epsilon_key = "norm_eps",
                                       .norm_epsilon = 1e-5,
                                       .theta = 1e6,
                                       .tied_embeddings = true};
constexpr int64_t kExperts = 32;
constexpr int64_t kExpertsPerToken = 4;
constexpr int64_t kExpertIntermediate = 1792;
constexpr int64_t kDenseLayers = 2;

void read_routed(const JsonObjectReader& json, Lfm2Config& c, ConfigNotes& notes) {
  ExpertConfig& experts = c.experts;
  experts.gate = "w1";
  experts.up = "w3";
  experts.down = "w2";
  c.dense_layers = unwrap(json.int_or("num_dense_layers", kDenseLayers, 0, kMaxLayers));
  experts.experts = read_experts(json, "num_experts", kExperts, 1, c, notes);
  experts.per_token =
      int_or_default(json, "num_experts_per_tok", std::min(kExpertsPerToken, experts.experts), 1,
                     experts.experts, notes);
  experts.inner =
      int_or_default(json, "moe_intermediate_size", kExpertIntermediate, 1, kMaxWidth, notes);
  experts.router = {.scores = RouterConfig::Scores::kSigmoid,
                    .renormalize = unwrap(json.bool_or("norm_topk_prob", true)),
                    .total_epsilon = 1e-6,  // fixed in the published code
                    .scale = unwrap(json.float_or("routed_scaling_factor", 1, 1e-6, 1e6))};
  if (unwrap(json.bool_or("use_expert_bias", true))) experts.router.correction = "expert_bias";
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Lfm2Config c = read_lfm2_config(json, kDefaults, notes);
  unwrap(json.required_string_array("layer_types"));  // the class has no default
  c.attends = read_layer_types(json, c, "full_attention", "conv", [](int64_t) { return true; });
  read_routed(json, c, notes);
  return lfm2_model("lfm2_moe", c);
}

}  // namespace tapml::models::lfm2_moe
