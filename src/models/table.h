// The table of architectures.
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "models/llama.h"
#include "models/qwen2_moe.h"

namespace tapml::models {

// One alternative for each kind of configuration.
using ModelConfig = std::variant<LlamaConfig, Qwen2MoeConfig>;

struct Architecture {
  const char* name;  // ModelInterface::architecture
  const char* doc;
  std::vector<WeightSpec> (*weights)(const ModelConfig& config);
  Module (*build)(const ModelConfig& config, const ModelDTypes& dtypes);
};

std::span<const Architecture> architecture_table();

// UserError that lists the known architectures.
const Architecture& find_architecture(std::string_view name);

}  // namespace tapml::models
