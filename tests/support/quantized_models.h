// Small models whose linear weights may be quantized, as folders.
#pragma once

#include <string>

#include "support/golden_models.h"
#include "support/temp_folder.h"

namespace tapml::testing {

// Rows of whole groups; a feed-forward size that is not a multiple of a panel's lanes.
inline constexpr const char* kQuantizedLlama = R"({
  "architectures": ["LlamaForCausalLM"], "vocab_size": 67, "hidden_size": 64,
  "intermediate_size": 96, "num_hidden_layers": 1, "num_attention_heads": 4,
  "num_key_value_heads": 2, "max_position_embeddings": 64, "rms_norm_eps": 1e-5,
  "attention_bias": true, "torch_dtype": "bfloat16", "eos_token_id": 2
})";

inline constexpr const char* kQuantizedMoe = R"({
  "architectures": ["Qwen2MoeForCausalLM"], "vocab_size": 67, "hidden_size": 64,
  "intermediate_size": 96, "num_hidden_layers": 1, "num_attention_heads": 4,
  "num_key_value_heads": 2, "max_position_embeddings": 64, "rms_norm_eps": 1e-6,
  "num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
  "shared_expert_intermediate_size": 64, "norm_topk_prob": true,
  "torch_dtype": "float32", "eos_token_id": 2
})";

// Writes config.json and model.safetensors with random weights.
inline void write_model(const TempFolder& folder, const std::string& config) {
  unwrap(write_text_atomic(folder / "config.json", config));
  const frontend::HuggingFaceConfig parsed = frontend::parse_config(config, "config.json");
  std::map<std::string, HostTensor> tensors;
  for (const models::WeightSpec& spec : models::decoder_weights(parsed.model)) {
    if (spec.parts.empty()) tensors[spec.name] = random_weight(7, spec, parsed.dtype);
    const Shape part(spec.shape.begin() + (spec.parts.empty() ? 0 : 1), spec.shape.end());
    for (const std::string& name : spec.parts) {
      tensors[name] = random_weight(7, {name, part, {}}, parsed.dtype);
    }
  }
  unwrap(write_file_atomic(folder / "model.safetensors", write_safetensors(tensors)));
}

}  // namespace tapml::testing
