#include "llm/tokenizer/regex_cursor.h"

#include <utility>

#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {
namespace {

constexpr char32_t kGreatestCode = 0x10FFFF;

int digit_of(char c, int base) {
  int digit = 99;
  if (c >= '0' && c <= '9') digit = c - '0';
  if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
  if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
  return digit < base ? digit : -1;
}

// The control characters of letters after a backslash.
constexpr std::pair<char, char32_t> kControls[] = {
    {'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'f', '\f'}, {'v', '\v'}, {'a', '\a'}, {'e', 0x1B}};

}  // namespace

bool RegexCursor::take(std::string_view text) {
  if (!rest().starts_with(text)) return false;
  at_ += text.size();
  return true;
}

char32_t RegexCursor::take_character() {
  const Utf8Step step = next_utf8(pattern_, at_);
  at_ += step.length;
  return step.code_point;
}

Result<std::optional<char32_t>> RegexCursor::take_hexadecimal() {
  const size_t start = at_;
  const bool braces = peek(1) == 'x' && peek(2) == '{';
  const size_t most = braces ? 8 : peek(1) == 'x' ? 2 : 4;
  skip(braces ? 3 : 2);
  char32_t value = 0;
  size_t digits = 0;
  for (; digits < most && digit_of(peek(), 16) >= 0; ++digits, skip(1)) {
    value = (value << 4) | static_cast<char32_t>(digit_of(peek(), 16));
  }
  const bool whole = braces ? digits > 0 && take("}") : most == 2 || digits == most;
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (!whole || surrogate || value > kGreatestCode) {
    return refuse("an invalid character code", start);
  }
  return value;
}

Result<std::optional<char32_t>> RegexCursor::take_escaped(bool in_class) {
  const char kind = peek(1);
  if (kind == 'x' || kind == 'u') return take_hexadecimal();
  for (const auto& [letter, control] : kControls) {
    if (letter != kind) continue;
    skip(2);
    return control;
  }
  const bool control_letter = kind == 'c' || (kind == 'C' && peek(2) == '-');
  if (control_letter) {
    const size_t start = at_;
    skip(kind == 'c' ? 2 : 3);
    if (done() || static_cast<unsigned char>(peek()) >= 0x80 || peek() == '\\') {
      return refuse("an invalid control character", start);
    }
    return static_cast<char32_t>(take_character() & 0x1F);
  }
  if (in_class && kind == 'b') {
    skip(2);
    return '\b';
  }
  if (kind == '0' || (in_class && digit_of(kind, 8) >= 0)) {
    skip(1);
    char32_t value = 0;
    for (int i = 0; i < 3 && digit_of(peek(), 8) >= 0; ++i, skip(1)) {
      value = value * 8 + static_cast<char32_t>(digit_of(peek(), 8));
    }
    return value;
  }
  return std::nullopt;
}

std::optional<RegexCursor::PropertyName> RegexCursor::take_property() {
  if (peek(2) != '{') return std::nullopt;
  const size_t close = pattern_.find('}', at_);
  if (close == std::string_view::npos) return std::nullopt;
  PropertyName property{pattern_.substr(at_ + 3, close - at_ - 3), peek(1) == 'P'};
  if (property.name.starts_with('^')) {
    property.name.remove_prefix(1);
    property.negated = !property.negated;
  }
  at_ = close + 1;
  return property;
}

std::unexpected<Error> RegexCursor::refuse(std::string what, size_t at) const {
  return fail(
      user_error("the regular expression uses " + std::move(what) + ", which is not supported",
                 "byte " + std::to_string(at) + " of the pattern", "", std::string(pattern_)));
}

}  // namespace tapml::tokenizer
