#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {

Utf8Step next_utf8(std::string_view text, size_t position) {
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
  const uint8_t lead = byte(position);
  if (lead < 0x80) return {Utf8Status::kValid, 1, lead};

  // The second byte's range excludes overlong forms, surrogates and values past U+10FFFF.
  size_t length = 0;
  uint8_t low = 0x80, high = 0xBF;
  char32_t value = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
    value = lead & 0x1F;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    value = lead & 0x0F;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    value = lead & 0x07;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {Utf8Status::kInvalid, 1, 0};
  }
  for (size_t i = 1; i < length; ++i) {
    if (position + i >= text.size()) return {Utf8Status::kIncomplete, i, 0};
    const uint8_t next = byte(position + i);
    if (next < low || next > high) return {Utf8Status::kInvalid, i, 0};
    value = (value << 6) | (next & 0x3F);
    low = 0x80;
    high = 0xBF;
  }
  return {Utf8Status::kValid, length, value};
}

size_t find_invalid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const Utf8Step step = next_utf8(text, i);
    if (step.status != Utf8Status::kValid) return i;
    i += step.length;
  }
  return std::string_view::npos;
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

size_t previous_start(std::string_view text, size_t end) {
  size_t start = end - 1;
  while (start > 0 && (static_cast<uint8_t>(text[start]) & 0xC0) == 0x80) --start;
  return start;
}

size_t space_before(std::string_view text, size_t end, size_t limit) {
  while (end > limit) {
    const size_t start = previous_start(text, end);
    if (!is_white_space(next_utf8(text, start).code_point)) break;
    end = start;
  }
  return end;
}

size_t space_after(std::string_view text, size_t start) {
  while (start < text.size()) {
    const Utf8Step step = next_utf8(text, start);
    if (!is_white_space(step.code_point)) break;
    start += step.length;
  }
  return start;
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto add = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    add(code_point);
  } else if (code_point < 0x800) {
    add(0xC0 | (code_point >> 6));
    add(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    add(0xE0 | (code_point >> 12));
    add(0x80 | ((code_point >> 6) & 0x3F));
    add(0x80 | (code_point & 0x3F));
  } else {
    add(0xF0 | (code_point >> 18));
    add(0x80 | ((code_point >> 12) & 0x3F));
    add(0x80 | ((code_point >> 6) & 0x3F));
    add(0x80 | (code_point & 0x3F));
  }
}

void Utf8Stream::push(std::string_view bytes, std::string& out) {
  std::string joined;
  if (!pending_.empty()) {
    joined = pending_;
    joined += bytes;
    bytes = joined;
  }
  size_t i = 0;
  while (i < bytes.size()) {
    const Utf8Step step = next_utf8(bytes, i);
    if (step.status == Utf8Status::kIncomplete) break;
    if (step.status == Utf8Status::kValid) {
      out.append(bytes.substr(i, step.length));
    } else {
      append_utf8(out, 0xFFFD);
    }
    i += step.length;
  }
  pending_.assign(bytes.substr(i));
}

void Utf8Stream::finish(std::string& out) {
  if (!pending_.empty()) append_utf8(out, 0xFFFD);
  pending_.clear();
}

}  // namespace tapml::tokenizer
