// The Llama architecture: pre-norm transformer, grouped-query attention, rotary positions, gated
// feed-forward (Touvron et al. 2023; the layout and names of Hugging Face's LlamaForCausalLM).
#pragma once

#include "models/decoder.h"

namespace tapml::models {

struct LlamaConfig : DecoderConfig {
  int64_t intermediate = 0;
  bool mlp_bias = false;  // on the three projections of the feed-forward part
};

// decoder_weights and build_decoder for this architecture.
std::vector<WeightSpec> llama_weights(const LlamaConfig& config);
Module build_llama(const LlamaConfig& config, const ModelDTypes& dtypes);

}  // namespace tapml::models
