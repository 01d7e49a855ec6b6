// Bytes in base64.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tapml::tokenizer {

// Nothing for a text that is not base64 with padding, or empty.
std::optional<std::string> decode_base64(std::string_view text);
// With padding.
std::string encode_base64(std::string_view bytes);

}  // namespace tapml::tokenizer
