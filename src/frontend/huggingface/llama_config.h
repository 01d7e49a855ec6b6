// The fields of LlamaForCausalLM's configuration.
#pragma once

#include "frontend/huggingface/decoder_config.h"
#include "io/json_reader.h"
#include "models/table.h"

namespace tapml::frontend {

// UserError for everything that LlamaConfig cannot express.
models::ModelConfig read_llama_config(const JsonObjectReader& json, ConfigNotes& notes);

}  // namespace tapml::frontend
