// Llama 1 to 3: pre-norm transformer, grouped-query attention, rotary positions, gated feed-forward
// (Touvron et al. 2023; the layout and names of Hugging Face's LlamaForCausalLM).
#pragma once

#include "models/config_fields.h"

namespace tapml::models {

struct LlamaConfig : DecoderConfig {
  bool mlp_bias = false;  // on the three projections of the feed-forward part
};

// UserError for everything that LlamaConfig cannot express.
LlamaConfig read_llama_config(const JsonObjectReader& json, ConfigNotes& notes);
DecoderModel llama_model(const LlamaConfig& config);

}  // namespace tapml::models
