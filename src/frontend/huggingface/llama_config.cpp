#include "frontend/huggingface/llama_config.h"

#include "frontend/huggingface/decoder_config.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

models::ModelConfig read_llama_config(const JsonObjectReader& json) {
  models::LlamaConfig config;
  read_decoder(json, config);
  config.intermediate = unwrap(json.required_int("intermediate_size", 1, kMaxWidth));
  config.qkv_bias = config.output_bias = unwrap(json.bool_or("attention_bias", false));
  config.mlp_bias = unwrap(json.bool_or("mlp_bias", false));
  return config;
}

}  // namespace tapml::frontend
