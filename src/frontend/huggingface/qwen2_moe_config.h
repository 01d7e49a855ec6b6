// The fields of Qwen2MoeForCausalLM's configuration.
#pragma once

#include "frontend/huggingface/decoder_config.h"
#include "io/json_reader.h"
#include "models/table.h"

namespace tapml::frontend {

// UserError for everything that Qwen2MoeConfig cannot express.
models::ModelConfig read_qwen2_moe_config(const JsonObjectReader& json, ConfigNotes& notes);

}  // namespace tapml::frontend
