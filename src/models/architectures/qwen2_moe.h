// Qwen2-MoE: like Llama, with biases on the q, k, v projections. Its sparse layers have routed
// experts and an optional shared expert with a sigmoid gate (layout and names of Hugging Face's
// Qwen2MoeForCausalLM).
#pragma once

#include "models/config_fields.h"

namespace tapml::models {

struct Qwen2MoeConfig : DecoderConfig {
  int64_t intermediate = 0;         // of the layers without experts
  int64_t experts = 0;              // 0: no layer has experts
  int64_t experts_per_token = 0;    // at most `experts`
  int64_t expert_intermediate = 0;  // of an expert
  int64_t shared_intermediate = 0;  // of the shared expert; 0: none
  bool renormalize = false;         // the weights of the chosen experts sum to 1
  int64_t sparse_step = 1;          // layers sparse_step - 1, 2 * sparse_step - 1, ... have experts
  std::vector<int64_t> dense_layers;  // sparse layers by sparse_step that are dense nevertheless

  bool is_sparse(int64_t layer) const;
};

// UserError for everything that Qwen2MoeConfig cannot express.
Qwen2MoeConfig read_qwen2_moe_config(const JsonObjectReader& json, ConfigNotes& notes);
DecoderModel qwen2_moe_model(const Qwen2MoeConfig& config);

}  // namespace tapml::models
