// What LFM 2 and LFM 2 with experts share: layers of gated short convolutions, and some of
// attention with norms of the heads of q and k (Liquid AI 2025; the layout and names of Hugging
// Face's Lfm2ForCausalLM and Lfm2MoeForCausalLM).
#pragma once

#include "models/blocks/experts.h"
#include "models/blocks/short_convolution.h"
#include "models/config_fields.h"

namespace tapml::models {

struct Lfm2Config : DecoderConfig {
  std::vector<bool> attends;  // by layer; the others have a convolution
  ShortConvolutionConfig convolution;
  int64_t dense_layers = 0;  // layers before those with experts
  ExpertConfig experts;
};

// All fields but those of the feed-forward part and `attends`.
Lfm2Config read_lfm2_config(const JsonObjectReader& json, const DecoderDefaults& defaults,
                            ConfigNotes& notes);
DecoderModel lfm2_model(const char* architecture, const Lfm2Config& config);

}  // namespace tapml::models
