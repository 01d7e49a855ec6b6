#include "frontend/huggingface/llama_config.h"

#include "base/strings.h"
#include "frontend/huggingface/decoder_config.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

// From transformers' LlamaConfig.
constexpr DecoderDefaults kLlamaDefaults = {
    .vocabulary = 32000, .hidden = 4096, .layers = 32, .heads = 32, .kv_heads = 0, .context = 2048};
constexpr int64_t kLlamaIntermediate = 11008;

// LlamaForCausalLM attends to all tokens regardless of these fields.
void warn_of_windows(const JsonObjectReader& json, int64_t context, ConfigNotes& notes) {
  for (const char* key : {"sliding_window", "attention_window"}) {
    const Json* window = json.find(key);
    if (!window || !window->is_integer() || window->as_integer() >= context) continue;
    notes.warnings.push_back(json.source() + ": " + in_quotes(key) +
                             " is ignored, as in transformers: every layer attends to all tokens");
  }
}

}  // namespace

models::ModelConfig read_llama_config(const JsonObjectReader& json, ConfigNotes& notes) {
  models::LlamaConfig config;
  read_decoder(json, kLlamaDefaults, config, notes);
  config.intermediate =
      int_or_default(json, "intermediate_size", kLlamaIntermediate, 1, kMaxWidth, notes);
  config.qkv_bias = config.output_bias = unwrap(json.bool_or("attention_bias", false));
  config.mlp_bias = unwrap(json.bool_or("mlp_bias", false));
  warn_of_windows(json, config.context, notes);
  return config;
}

}  // namespace tapml::frontend
