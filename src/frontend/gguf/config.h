// The published configuration of a GGUF file's model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/gguf/architectures.h"

namespace tapml::frontend {

// The text of the config.json from which transformers would make the model. UserError for a value
// that is missing or of another type.
std::string gguf_config(const GgufArchitecture& architecture, const GgufFields& fields);

// The key from which a field of this text comes; empty for a field that has none.
std::string gguf_key_of(const GgufArchitecture& architecture, const GgufFields& fields,
                        std::string_view published);

// The tokens that end a text: those that the metadata names as the ends of a text and of a turn,
// and tokens whose published texts say so.
std::vector<int32_t> gguf_end_tokens(const GgufFields& fields);

}  // namespace tapml::frontend
