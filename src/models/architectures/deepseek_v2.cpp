// DeepSeek V2: latent attention, and routed experts in groups beside shared ones (DeepSeek-AI 2024;
// the layout and names of Hugging Face's DeepseekV2ForCausalLM).
#include <array>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/architectures/deepseek.h"

namespace tapml::models::deepseek_v2 {

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  // From transformers' DeepseekV2Config.
  constexpr DecoderDefaults kDefaults = {.vocabulary = 102400,
                                         .hidden = 4096,
                                         .layers = 32,
                                         .heads = 32,
                                         .head_dim = 64,
                                         .context = 2048,
                                         .intermediate = 11008,
                                         .head_dim_key = "qk_rope_head_dim"};
  DeepseekConfig c;
  read_decoder(json, kDefaults, c, notes);
  c.rope.interleaved = true;
  c.latent = read_latent_attention(json, {}, c, notes);
  refuse_set(json, "mlp_bias", "is true: biases of the feed-forward parts are not supported");
  refuse_set(json, "norm_topk_prob",
             "is true: transformers ignores it, where the published code divides by the sum");
  if (json.has("scoring_func")) {
    unwrap(json.required_choice("scoring_func", std::array<std::string_view, 1>{"softmax"}));
  }
  c.experts = read_deepseek_experts(
      json, {.experts = 64, .inner = 1407, .shared = 2, .groups_by_pairs = false}, c, notes);
  RouterConfig& router = c.experts.routed.router;
  const std::string method =
      json.has("topk_method")
          ? unwrap(json.required_choice(
                "topk_method", std::array<std::string_view, 2>{"greedy", "group_limited_greedy"}))
          : "greedy";
  if (method == "greedy") router.groups = router.chosen_groups = 1;
  return deepseek_model("deepseek_v2", c);
}

}  // namespace tapml::models::deepseek_v2
