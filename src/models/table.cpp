#include "models/table.h"

#include "base/strings.h"
#include "ir/exceptions.h"
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
