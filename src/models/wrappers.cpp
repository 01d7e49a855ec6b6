#include "models/wrappers.h"

#include "models/architectures/image_readers.h"

namespace tapml::models {

std::span<const Wrapper> wrapper_table() {
  static const Wrapper kTable[] = {
      {"gemma3", "Gemma3ForConditionalGeneration", "gemma3_text", true, gemma3_images::read_images},
      {"gemma3n", "Gemma3nForConditionalGeneration", "gemma3n_text"},
      {"gemma4", "Gemma4ForConditionalGeneration", "gemma4_text"},
      {"idefics3", "Idefics3ForConditionalGeneration", "llama", false, idefics3::read_images},
      {"llama4", "Llama4ForConditionalGeneration", "llama4_text", false},
      {"llava", "LlavaForConditionalGeneration", "llama", false, llava::read_images},
      {"mistral3", "Mistral3ForConditionalGeneration", "mistral"},
      {"qwen3_5", "Qwen3_5ForConditionalGeneration", "qwen3_5_text", false},
      {"qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe_text", false},
      {"qwen3_vl", "Qwen3VLForConditionalGeneration", "qwen3", false, qwen3_vl::read_images,
       "qwen3_vl_text"},
      {"smolvlm", "SmolVLMForConditionalGeneration", "llama", false, idefics3::read_smolvlm},
  };
  return kTable;
}

}  // namespace tapml::models
