#include "frontend/huggingface/qwen2_moe_config.h"

#include "frontend/huggingface/decoder_config.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

constexpr int64_t kMaxExperts = 4096;
// In all layers together: each is three tensors of the files, which are looked for by name.
constexpr int64_t kMaxExpertsOfAllLayers = int64_t{1} << 18;

}  // namespace

models::ModelConfig read_qwen2_moe_config(const JsonObjectReader& json) {
  models::Qwen2MoeConfig config;
  read_decoder(json, config);
  config.qkv_bias = unwrap(json.bool_or("qkv_bias", true));
  config.intermediate = unwrap(json.required_int("intermediate_size", 1, kMaxWidth));
  config.experts = unwrap(json.required_int("num_experts", 0, kMaxExperts));
  if (config.experts > kMaxExpertsOfAllLayers / config.layers) {
    throw_error(json.field_error(
        "num_experts", "is too many for " + std::to_string(config.layers) + " layers",
        "at most " + std::to_string(kMaxExpertsOfAllLayers) + " in all layers together"));
  }
  if (config.experts > 0) {
    config.experts_per_token = unwrap(json.required_int("num_experts_per_tok", 1, config.experts));
    config.expert_intermediate = unwrap(json.required_int("moe_intermediate_size", 1, kMaxWidth));
    config.shared_intermediate =
        unwrap(json.required_int("shared_expert_intermediate_size", 1, kMaxWidth));
    config.renormalize = unwrap(json.bool_or("norm_topk_prob", false));
    config.sparse_step = unwrap(json.int_or("decoder_sparse_step", 1, 1, kMaxLayers));
    if (json.has("mlp_only_layers")) {
      config.dense_layers = unwrap(json.required_int_array("mlp_only_layers", 0, kMaxLayers));
    }
  }
  if (unwrap(json.bool_or("use_sliding_window", false))) {
    throw_error(json.field_error("use_sliding_window",
                                 "is true: attention over a sliding window is not supported",
                                 "false"));
  }
  return config;
}

}  // namespace tapml::frontend
