#include "base/strings.h"

#include <algorithm>
#include <cstdint>

#include "base/printable.h"

namespace tapml {

size_t utf8_sequence_length(std::string_view text, size_t position) {
  auto byte = [&](size_t i) -> uint8_t {
    return position + i < text.size() ? static_cast<uint8_t>(text[position + i]) : uint8_t{0};
  };
  auto continues = [&](size_t i, uint8_t low = 0x80, uint8_t high = 0xbf) {
    return byte(i) >= low && byte(i) <= high;
  };
  if (position >= text.size()) return 0;
  uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;
  if (lead < 0xe0) return continues(1) ? 2 : 0;
  if (lead < 0xf0) {
    uint8_t low = lead == 0xe0 ? 0xa0 : 0x80;   // below: overlong
    uint8_t high = lead == 0xed ? 0x9f : 0xbf;  // above: surrogates
    return continues(1, low, high) && continues(2) ? 3 : 0;
  }
  if (lead < 0xf5) {
    uint8_t low = lead == 0xf0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xf4 ? 0x8f : 0xbf;  // above: beyond U+10FFFF
    return continues(1, low, high) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

std::string in_quotes(std::string_view text, size_t most) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    size_t length = utf8_sequence_length(text, i);
    if (i + (length == 0 ? 1 : length) > most) return out + "...\"";
    auto c = static_cast<uint8_t>(text[i]);
    if (length == 0 || control_character_length(text, i) > 0) {
      if (c == '\n') {
        out += "\\n";
      } else if (c == '\t') {
        out += "\\t";
      } else {
        for (size_t k = 0; k < std::max<size_t>(length, 1); ++k) {
          const auto byte = static_cast<uint8_t>(text[i + k]);
          out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
        }
      }
      i += std::max<size_t>(length, 1);
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += text.substr(i, length);
    i += length;
  }
  return out + "\"";
}

std::string join_choices(std::span<const std::string_view> choices) {
  std::string text;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) text += i + 1 == choices.size() ? " or " : ", ";
    text += choices[i];
  }
  return text;
}

}  // namespace tapml
