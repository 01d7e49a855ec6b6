#include "models/table.h"

#include "base/strings.h"
#include "ir/exceptions.h"

namespace tapml::models {

std::span<const Architecture> architecture_table() {
  static const Architecture kTable[] = {
      {.name = "llama",
       .doc = "Llama 1 to 3 and models of the same structure (TinyLlama, SmolLM, ...).",
       .weights =
           [](const ModelConfig& config) { return llama_weights(std::get<LlamaConfig>(config)); },
       .build =
           [](const ModelConfig& config, const ModelDTypes& dtypes) {
             return build_llama(std::get<LlamaConfig>(config), dtypes);
           }},
      {.name = "qwen2_moe",
       .doc = "Qwen1.5-MoE and Qwen2-MoE: routed experts and a shared one.",
       .weights =
           [](const ModelConfig& config) {
             return qwen2_moe_weights(std::get<Qwen2MoeConfig>(config));
           },
       .build =
           [](const ModelConfig& config, const ModelDTypes& dtypes) {
             return build_qwen2_moe(std::get<Qwen2MoeConfig>(config), dtypes);
           }},
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
