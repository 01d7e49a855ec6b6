// What Qwen3-Next and the text models of Qwen 3.5 share: three layers of a gated delta net for one
// of attention with an output gate (Qwen Team 2025; the layout and names of Hugging Face's
// Qwen3NextForCausalLM, Qwen3_5ForCausalLM and Qwen3_5MoeForCausalLM).
#pragma once

#include "models/blocks/delta_net.h"
#include "models/blocks/shared_expert.h"
#include "models/blocks/short_convolution.h"
#include "models/config_fields.h"

namespace tapml::models {

struct QwenHybridConfig : DecoderConfig {
  std::vector<bool> attends;  // by layer; the others have a delta net
  DeltaNetConfig delta;
  ShortConvolutionConfig convolution;  // of q, k and v together
  ExpertConfig experts;
  int64_t shared_intermediate = 0;  // of the shared expert; 0: none
  std::vector<bool> sparse;         // by layer: whether it has experts
};

// All fields but those of experts, without which no layer is sparse.
QwenHybridConfig read_qwen_hybrid_config(const JsonObjectReader& json,
                                         const DecoderDefaults& defaults, ConfigNotes& notes);

struct ExpertDefaults {
  int64_t experts = 0, per_token = 0, inner = 0, shared = 0;
};
// "num_experts", at least `min_experts`, and what belongs to it.
void read_qwen_hybrid_experts(const JsonObjectReader& json, const ExpertDefaults& defaults,
                              int64_t min_experts, QwenHybridConfig& config, ConfigNotes& notes);

// The projections of a delta net's inputs, whose layout in files differs.
struct DeltaNetProjections {
  relax::Variable qkv;  // [b, n, 2 key_width + value_width], before the convolution
  relax::Variable gate, rate, decay;
};
using DeltaNetProjector = DeltaNetProjections (*)(Graph& g, const DeltaNetConfig& config,
                                                  const std::string& path,
                                                  const relax::Variable& x);
DecoderModel qwen_hybrid_model(const char* architecture, const QwenHybridConfig& config,
                               DeltaNetProjector project);

}  // namespace tapml::models
