// DeepSeek V3 and R1: latent attention, and routed experts in groups, chosen by corrected sigmoid
// scores, beside shared ones (DeepSeek-AI 2024; the layout and names of Hugging Face's
// DeepseekV3ForCausalLM).
#include <array>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/architectures/deepseek.h"

namespace tapml::models::deepseek_v3 {

namespace {

void expect_choice(const JsonObjectReader& json, const char* key, std::string_view only) {
  if (json.has(key)) unwrap(json.required_choice(key, std::array{only}));
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  // From transformers' DeepseekV3Config.
  constexpr DecoderDefaults kDefaults = {.vocabulary = 129280,
                                         .hidden = 7168,
                                         .layers = 61,
                                         .heads = 128,
                                         .head_dim = 64,
                                         .context = 4096,
                                         .intermediate = 18432,
                                         .head_dim_key = "qk_rope_head_dim"};
  DeepseekConfig c;
  read_decoder(json, kDefaults, c, notes);
  c.rope.interleaved = unwrap(json.bool_or("rope_interleave", true));
  c.latent = read_latent_attention(json, {}, c, notes);
  expect_choice(json, "scoring_func", "sigmoid");
  expect_choice(json, "topk_method", "noaux_tc");
  c.experts = read_deepseek_experts(json,
                                    {.experts = 256,
                                     .per_token = 8,
                                     .inner = 2048,
                                     .groups = 8,
                                     .chosen_groups = 4,
                                     .first = 3,
                                     .scale = 2.5},
                                    c, notes);
  RouterConfig& router = c.experts.routed.router;
  router.scores = RouterConfig::Scores::kSigmoid;
  router.correction = "gate.e_score_correction_bias";
  router.renormalize = unwrap(json.bool_or("norm_topk_prob", true));
  return deepseek_model("deepseek_v3", c);
}

}  // namespace tapml::models::deepseek_v3
