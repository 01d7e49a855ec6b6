// Qwen2-MoE: like Llama, with biases on the q, k, v projections. Its sparse layers have routed
// experts and an optional shared expert with a sigmoid gate (layout and names of Hugging Face's
// Qwen2MoeForCausalLM).
#pragma once

#include "models/config_fields.h"

namespace tapml::models {

struct Qwen2MoeConfig : DecoderConfig {  // `intermediate` is of the layers without experts
  int64_t experts = 0;                   // 0: no layer has experts
  int64_t experts_per_token = 0;         // at most `experts`
  int64_t expert_intermediate = 0;       // of an expert
  int64_t shared_intermediate = 0;       // of the shared expert; 0: none
  bool renormalize = false;              // the weights of the chosen experts sum to 1
  std::vector<bool> sparse;              // by layer: whether it has experts
};

// UserError for everything that Qwen2MoeConfig cannot express.
Qwen2MoeConfig read_qwen2_moe_config(const JsonObjectReader& json, ConfigNotes& notes);
DecoderModel qwen2_moe_model(const Qwen2MoeConfig& config);

}  // namespace tapml::models
