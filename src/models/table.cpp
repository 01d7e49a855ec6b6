#include "models/table.h"

#include "base/strings.h"
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/architectures/llama.h"
#include "models/architectures/qwen2_moe.h"

namespace tapml::models {

std::span<const Architecture> architecture_table() {
  static const Architecture kTable[] = {
      {.name = "llama",
       .class_name = "LlamaForCausalLM",
       .base_class = "LlamaModel",
       .doc = "Llama 1 to 3 and models of the same structure (TinyLlama, SmolLM, ...)",
       .read = [](const JsonObjectReader& json,
                  ConfigNotes& notes) { return llama_model(read_llama_config(json, notes)); },
       .end_of_text = 2},
      {.name = "qwen2_moe",
       .class_name = "Qwen2MoeForCausalLM",
       .base_class = "Qwen2MoeModel",
       .doc = "Qwen1.5-MoE and Qwen2-MoE: routed experts and a shared one",
       .read =
           [](const JsonObjectReader& json, ConfigNotes& notes) {
             return qwen2_moe_model(read_qwen2_moe_config(json, notes));
           },
       .end_of_text = -1},
      {.name = "cohere",
       .class_name = "CohereForCausalLM",
       .base_class = "CohereModel",
       .doc = "Command R",
       .read = cohere::read,
       .end_of_text = 255001},
      {.name = "gemma",
       .class_name = "GemmaForCausalLM",
       .base_class = "GemmaModel",
       .doc = "Gemma 1, CodeGemma",
       .read = gemma::read,
       .end_of_text = 1},
      {.name = "gemma2",
       .class_name = "Gemma2ForCausalLM",
       .base_class = "Gemma2Model",
       .doc = "Gemma 2",
       .read = gemma2::read,
       .end_of_text = 1},
      {.name = "gpt2",
       .class_name = "GPT2LMHeadModel",
       .base_class = "GPT2Model",
       .doc = "GPT-2 and models of the same structure (DistilGPT-2, ...)",
       .read = gpt2::read,
       .end_of_text = 50256},
      {.name = "gpt_neox",
       .class_name = "GPTNeoXForCausalLM",
       .base_class = "GPTNeoXModel",
       .doc = "GPT-NeoX, Pythia, RedPajama, Dolly 2",
       .read = gpt_neox::read,
       .end_of_text = 2},
      {.name = "granite",
       .class_name = "GraniteForCausalLM",
       .base_class = "GraniteModel",
       .doc = "Granite 3, dense",
       .read = granite::read,
       .end_of_text = 2},
      {.name = "mistral",
       .class_name = "MistralForCausalLM",
       .base_class = "MistralModel",
       .doc = "Mistral and models of the same structure (Zephyr, ...)",
       .read = mistral::read,
       .end_of_text = 2},
      {.name = "mixtral",
       .class_name = "MixtralForCausalLM",
       .base_class = "MixtralModel",
       .doc = "Mixtral: routed experts in every layer",
       .read = mixtral::read,
       .end_of_text = 2},
      {.name = "olmo2",
       .class_name = "Olmo2ForCausalLM",
       .base_class = "Olmo2Model",
       .doc = "OLMo 2",
       .read = olmo2::read,
       .end_of_text = 50279},
      {.name = "phi",
       .class_name = "PhiForCausalLM",
       .base_class = "PhiModel",
       .doc = "Phi 1, 1.5 and 2",
       .read = phi::read,
       .end_of_text = 2},
      {.name = "phi3",
       .class_name = "Phi3ForCausalLM",
       .base_class = "Phi3Model",
       .doc = "Phi 3, 3.5 and 4 without long contexts",
       .read = phi3::read,
       .end_of_text = 32000},
      {.name = "qwen2",
       .class_name = "Qwen2ForCausalLM",
       .base_class = "Qwen2Model",
       .doc = "Qwen 1.5, 2 and 2.5",
       .read = qwen2::read,
       .end_of_text = -1},
      {.name = "qwen3",
       .class_name = "Qwen3ForCausalLM",
       .base_class = "Qwen3Model",
       .doc = "Qwen 3, dense",
       .read = qwen3::read,
       .end_of_text = -1},
      {.name = "qwen3_moe",
       .class_name = "Qwen3MoeForCausalLM",
       .base_class = "Qwen3MoeModel",
       .doc = "Qwen 3 with routed experts",
       .read = qwen3_moe::read,
       .end_of_text = -1},
      {.name = "smollm3",
       .class_name = "SmolLM3ForCausalLM",
       .base_class = "SmolLM3Model",
       .doc = "SmolLM 3",
       .read = smollm3::read,
       .end_of_text = 128001},
      {.name = "stablelm",
       .class_name = "StableLmForCausalLM",
       .base_class = "StableLmModel",
       .doc = "StableLM",
       .read = stablelm::read,
       .end_of_text = 0},
      {.name = "starcoder2",
       .class_name = "Starcoder2ForCausalLM",
       .base_class = "Starcoder2Model",
       .doc = "StarCoder 2",
       .read = starcoder2::read,
       .end_of_text = 50256},
  };
  return kTable;
}

const Architecture& find_architecture(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Architecture& architecture : architecture_table()) {
    if (architecture.name == name) return architecture;
    known.push_back(architecture.name);
  }
  throw_user("unknown architecture " + in_quotes(name), "", join_choices(known), in_quotes(name));
}

}  // namespace tapml::models
