#include "base/printable.h"

#include <cstdint>

#include "base/strings.h"

namespace tapml {

namespace {

std::string escaped(std::string_view text, bool lines) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_sequence_length(text, i);
    const size_t control = control_character_length(text, i);
    const char c = text[i];
    if (c == '\t' || (c == '\n' && lines) || (length > 0 && control == 0)) {
      out += text.substr(i, length);
      i += length;
    } else if (c == '\n') {
      out += "\\n";
      ++i;
    } else {
      for (const size_t end = i + (length > 0 ? length : 1); i < end; ++i) {
        const auto byte = static_cast<uint8_t>(text[i]);
        out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      }
    }
  }
  return out;
}

}  // namespace

size_t control_character_length(std::string_view text, size_t position) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  if (position >= text.size()) return 0;
  if (byte(position) < 0x20 || byte(position) == 0x7f) return 1;
  const bool c1 = byte(position) == 0xc2 && position + 1 < text.size() &&
                  byte(position + 1) >= 0x80 && byte(position + 1) < 0xa0;
  return c1 ? 2 : 0;
}

std::string printable(std::string_view text) { return escaped(text, true); }

std::string printable_line(std::string_view text) { return escaped(text, false); }

}  // namespace tapml
