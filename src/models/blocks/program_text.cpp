#include "models/blocks/program_text.h"

namespace tapml::models {

std::string with_numbers(std::string text,
                         std::span<const std::pair<std::string_view, int64_t>> numbers) {
  for (const auto& [word, number] : numbers) {
    const std::string digits = std::to_string(number);
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
      text.replace(at, word.size(), digits);
    }
  }
  return text;
}

}  // namespace tapml::models
