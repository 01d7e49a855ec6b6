// The tokens that end a model's texts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tapml::app {

// According to the configuration files of a folder, or to a GGUF file.
std::vector<int32_t> read_end_tokens(const std::string& folder);

}  // namespace tapml::app
