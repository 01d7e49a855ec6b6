// Qwen2-MoE: like Llama, with biases on the q, k, v projections. Its sparse layers have routed
// experts and an optional shared expert with a sigmoid gate (layout and names of Hugging Face's
// Qwen2MoeForCausalLM).
#pragma once

#include "models/decoder.h"

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

// decoder_weights and build_decoder for this architecture. The expert matrices of a layer are one
// weight each, [experts, outputs, inputs], whose parts are the tensors in the files.
std::vector<WeightSpec> qwen2_moe_weights(const Qwen2MoeConfig& config);
Module build_qwen2_moe(const Qwen2MoeConfig& config, const ModelDTypes& dtypes);

}  // namespace tapml::models
