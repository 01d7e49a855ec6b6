// Qwen2-MoE: Llama's form with biased projections to q, k, v, and in its sparse layers routed
// experts beside a shared one, where there is any, that a sigmoid gates (the layout and names of
// Hugging Face's Qwen2MoeForCausalLM).
#pragma once

#include "models/decoder.h"

namespace tapml::models {

struct Qwen2MoeConfig : DecoderConfig {
  int64_t intermediate = 0;         // of the layers without experts
  int64_t experts = 0;              // 0: no layer has any
  int64_t experts_per_token = 0;    // at most `experts`
  int64_t expert_intermediate = 0;  // of an expert
  int64_t shared_intermediate = 0;  // of the shared expert; 0: there is none
  bool renormalize = false;         // the weights of the chosen experts sum to 1
  int64_t sparse_step = 1;          // layers sparse_step - 1, 2 * sparse_step - 1, ... have experts
  std::vector<int64_t> dense_layers;  // these have none all the same

  bool is_sparse(int64_t layer) const;
};

// decoder_weights and build_decoder of this architecture. The experts' matrices of a layer are one
// weight each, [experts, outputs, inputs], whose parts are the tensors of the files.
std::vector<WeightSpec> qwen2_moe_weights(const Qwen2MoeConfig& config);
Module build_qwen2_moe(const Qwen2MoeConfig& config, const ModelDTypes& dtypes);

}  // namespace tapml::models
