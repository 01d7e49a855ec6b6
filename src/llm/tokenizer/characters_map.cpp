#include "llm/tokenizer/characters_map.h"

#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {

namespace {

uint32_t read_u32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    value |= uint32_t{static_cast<uint8_t>(bytes[at + i])} << (8 * i);
  }
  return value;
}

// Parts of a unit of the double array.
bool has_leaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t value_of(uint32_t unit) { return unit & 0x7FFFFFFFU; }
uint32_t label_of(uint32_t unit) { return unit & 0x800000FFU; }
uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & (1U << 9)) >> 6); }

}  // namespace

Result<CharactersMap> CharactersMap::make(std::string_view bytes, std::string_view source) {
  CharactersMap map;
  if (bytes.empty()) return map;
  const uint32_t size = bytes.size() < 4 ? 0 : read_u32(bytes, 0);
  // Replacements are read up to their zeros, and begin at any byte: valid ones end anywhere.
  const bool fits = size >= 4 && size % 4 == 0 && size < bytes.size() - 4 && bytes.back() == '\0';
  if (!fits || find_invalid_utf8(bytes.substr(4 + size)) != std::string_view::npos) {
    return fail(user_error("the map of characters of a normalizer is damaged", std::string(source),
                           "a trie and its texts", std::to_string(bytes.size()) + " other bytes",
                           "download the file again"));
  }
  for (uint32_t at = 0; at < size; at += 4) map.units_.push_back(read_u32(bytes, 4 + at));
  map.replacements_ = std::string(bytes.substr(4 + size));
  return map;
}

std::optional<CharactersMap::Match> CharactersMap::match(std::string_view text,
                                                         bool longest) const {
  if (units_.empty()) return std::nullopt;
  std::optional<Match> found;
  size_t node = offset_of(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    node ^= byte;
    if (node >= units_.size() || label_of(units_[node]) != byte) break;
    const uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (node >= units_.size()) break;
    if (!has_leaf(unit)) continue;
    const uint32_t at = value_of(units_[node]);
    if (at >= replacements_.size()) break;
    const std::string_view by = std::string_view(replacements_).substr(at);
    // A damaged map may point into a character.
    const std::string_view text_by = by.substr(0, by.find('\0'));
    if (find_invalid_utf8(text_by) != std::string_view::npos) break;
    found = Match{text_by, i + 1};
    if (!longest) break;
  }
  return found;
}

std::optional<CharactersMap::Match> CharactersMap::longest(std::string_view text) const {
  return match(text, true);
}

std::optional<CharactersMap::Match> CharactersMap::shortest(std::string_view text) const {
  return match(text, false);
}

}  // namespace tapml::tokenizer
