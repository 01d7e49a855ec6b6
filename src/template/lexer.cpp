#include "template/lexer.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/strings.h"
#include "template/text.h"

namespace tapml::jinja {

namespace {

constexpr size_t kNone = std::string_view::npos;

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_byte(char c) {
  return is_ascii_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view source) : text_(text), source_(source) {}

  Result<std::vector<Token>> run() {
    while (at_ < text_.size()) TAPML_TRY(read_root());
    add(TokenKind::kEnd, text_.size(), "");
    return std::move(tokens_);
  }

 private:
  std::unexpected<Error> error(size_t at, std::string message, std::string expected,
                               std::string found = "") const {
    return fail(user_error(std::move(message), template_location(source_, text_, at),
                           std::move(expected), std::move(found)));
  }

  void add(TokenKind kind, size_t at, std::string text) {
    Token token;
    token.kind = kind;
    token.at = static_cast<uint32_t>(at);
    token.text = std::move(text);
    tokens_.push_back(std::move(token));
  }

  bool has(size_t at, std::string_view word) const { return text_.substr(at).starts_with(word); }
  size_t after_space(size_t at) const {
    while (at < text_.size()) {
      const CodePoint c = code_point_at(text_, at);
      if (!is_space(c.value)) break;
      at += c.length;
    }
    return at;
  }

  // The sign of white space control at `at`: '-', '+' or 0.
  char sign_at(size_t at) const {
    return at < text_.size() && (text_[at] == '-' || text_[at] == '+') ? text_[at] : '\0';
  }

  // `data` before a tag, as the tag's sign and lstrip_blocks leave it.
  std::string_view stripped(std::string_view data, char sign, bool is_variable) const {
    if (sign == '-') return strip(data, false, true);
    if (sign == '+' || is_variable) return data;
    const size_t newline = data.rfind('\n');
    const size_t begin = newline == kNone ? 0 : newline + 1;
    if (begin == 0 && !line_starting_) return data;
    return strip(data.substr(begin), true, true).empty() ? data.substr(0, begin) : data;
  }

  void add_data(std::string_view data, size_t at) {
    if (!data.empty()) add(TokenKind::kData, at, std::string(data));
  }

  // Where the tag's end at `at` ends, with what it removes; kNone if there is no end.
  size_t end_of_tag(size_t at, std::string_view end, bool trims) const {
    if (has(at, "-") && has(at + 1, end)) return after_space(at + 1 + end.size());
    if (trims && has(at, "+") && has(at + 1, end)) return at + 1 + end.size();
    if (!has(at, end)) return kNone;
    at += end.size();
    return trims && has(at, "\n") ? at + 1 : at;
  }

  void move_to(size_t at) {
    line_starting_ = at > at_ && text_[at - 1] == '\n';
    at_ = at;
  }

  Status read_root() {
    size_t open = at_;
    while (true) {
      open = text_.find('{', open);
      if (open == kNone || open + 1 >= text_.size()) {
        add_data(text_.substr(at_), at_);
        at_ = text_.size();
        return {};
      }
      const char kind = text_[open + 1];
      if (kind == '%' || kind == '{' || kind == '#') break;
      ++open;
    }
    const char kind = text_[open + 1], sign = sign_at(open + 2);
    add_data(stripped(text_.substr(at_, open - at_), sign, kind == '{'), at_);
    const size_t inside = open + 2 + (sign ? 1 : 0);
    if (kind == '#') return read_comment(open, inside);
    if (kind == '{') {
      add(TokenKind::kVariableBegin, open, "{{");
      move_to(inside);
      return read_tag(open, "}}", TokenKind::kVariableEnd);
    }
    const size_t word = after_space(inside);
    if (has(word, "raw")) {
      const size_t end = after_space(word + 3);
      if (has(end, "-%}")) return read_raw(open, after_space(end + 3));
      if (has(end, "%}")) return read_raw(open, end + 2);
    }
    add(TokenKind::kBlockBegin, open, "{%");
    move_to(inside);
    return read_tag(open, "%}", TokenKind::kBlockEnd);
  }

  Status read_comment(size_t open, size_t at) {
    const size_t close = text_.find("#}", at);
    if (close == kNone) return error(open, "a comment does not end", "#}");
    const char sign = close > at ? sign_at(close - 1) : '\0';
    move_to(end_of_tag(sign ? close - 1 : close, "#}", true));
    return {};
  }

  Status read_raw(size_t open, size_t begin) {
    move_to(begin);
    for (size_t tag = text_.find("{%", begin); tag != kNone; tag = text_.find("{%", tag + 1)) {
      const char sign = sign_at(tag + 2);
      const size_t word = after_space(tag + 2 + (sign ? 1 : 0));
      if (!has(word, "endraw")) continue;
      const size_t end = end_of_tag(after_space(word + 6), "%}", true);
      if (end == kNone) continue;
      add_data(stripped(text_.substr(begin, tag - begin), sign, false), begin);
      move_to(end);
      return {};
    }
    return error(open, "a raw block does not end", "{% endraw %}");
  }

  Status read_tag(size_t open, std::string_view end, TokenKind end_kind) {
    std::string brackets;  // the closing ones that are due
    while (at_ < text_.size()) {
      if (brackets.empty()) {
        const size_t after = end_of_tag(at_, end, end_kind == TokenKind::kBlockEnd);
        if (after != kNone) {
          add(end_kind, at_, std::string(end));
          move_to(after);
          return {};
        }
      }
      const size_t word = after_space(at_);
      if (word != at_) {
        at_ = word;
        continue;
      }
      const char c = text_[at_];
      if (is_ascii_digit(c)) {
        TAPML_TRY(read_number());
      } else if (is_name_byte(c)) {
        const size_t begin = at_;
        while (at_ < text_.size() && is_name_byte(text_[at_]) &&
               !is_space(code_point_at(text_, at_).value)) {
          at_ += code_point_at(text_, at_).length;
        }
        add(TokenKind::kName, begin, std::string(text_.substr(begin, at_ - begin)));
      } else if (c == '\'' || c == '"') {
        TAPML_TRY(read_string(c));
      } else {
        TAPML_TRY(read_operator(brackets));
      }
    }
    return error(open, "a tag does not end", in_quotes(end), "the end of the template");
  }

  // Digits with single underscores between them.
  size_t after_digits(size_t at, bool (*is)(char) = is_ascii_digit) const {
    while (at < text_.size() &&
           (is(text_[at]) || (text_[at] == '_' && at + 1 < text_.size() && is(text_[at + 1])))) {
      ++at;
    }
    return at;
  }

  Status read_number() {
    const size_t begin = at_;
    const char next = begin + 1 < text_.size() ? static_cast<char>(text_[begin + 1] | 0x20) : '\0';
    if (text_[begin] == '0' && (next == 'x' || next == 'o' || next == 'b')) {
      const int base = next == 'x' ? 16 : next == 'o' ? 8 : 2;
      const auto is_hex = [](char c) {
        return is_ascii_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
      };
      const size_t end = after_digits(begin + 2, is_hex);
      if (end > begin + 2) return add_integer(begin, begin + 2, end, base);
    }
    size_t end = after_digits(begin);
    bool real = false;
    const bool after_dot = begin > 0 && text_[begin - 1] == '.';  // "items.0.1" has no fraction
    if (!after_dot && end + 1 < text_.size() && text_[end] == '.' &&
        is_ascii_digit(text_[end + 1])) {
      end = after_digits(end + 1);
      real = true;
    }
    if (!after_dot && end < text_.size() && (text_[end] | 0x20) == 'e') {
      const size_t digits = end + 1 + (sign_at(end + 1) ? 1 : 0);
      if (digits < text_.size() && is_ascii_digit(text_[digits])) {
        end = after_digits(digits);
        real = true;
      }
    }
    if (!real) return add_integer(begin, begin, end, 10);
    std::string digits(text_.substr(begin, end - begin));
    std::erase(digits, '_');
    const std::optional<double> value = decimal_number(digits);
    if (!value) return error(begin, "the number is out of range", "a double");
    add(TokenKind::kFloat, begin, digits);
    tokens_.back().real = *value;
    at_ = end;
    return {};
  }

  Status add_integer(size_t begin, size_t first, size_t end, int base) {
    std::string digits(text_.substr(first, end - first));
    std::erase(digits, '_');
    int64_t value = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) {
      return error(begin, "the integer is out of range", "at most 9223372036854775807",
                   in_quotes(digits));
    }
    // Python has no decimal integers that begin with 0, except 0 itself.
    if (base == 10 && value != 0 && digits[0] == '0') {
      return error(begin, "an integer begins with 0", "digits without it", in_quotes(digits));
    }
    add(TokenKind::kInteger, begin, digits);
    tokens_.back().integer = value;
    at_ = end;
    return {};
  }

  Status read_string(char quote) {
    const size_t begin = at_++;
    std::string value;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] != '\\') {
        value += text_[at_++];
        continue;
      }
      if (++at_ >= text_.size()) break;
      TAPML_TRY(read_escape(value));
    }
    if (at_ >= text_.size()) {
      return error(begin, "a text does not end", in_quotes(std::string(1, quote)),
                   "the end of the template");
    }
    ++at_;
    add(TokenKind::kString, begin, std::move(value));
    return {};
  }

  // At the character after a backslash.
  Status read_escape(std::string& value) {
    static constexpr std::string_view kNames = "abfnrtv\\'\"", kMeanings = "\a\b\f\n\r\t\v\\'\"";
    const char c = text_[at_];
    const size_t simple = kNames.find(c);
    if (simple != kNone) {
      value += kMeanings[simple];
      ++at_;
      return {};
    }
    if (c == '\n') {
      ++at_;
      return {};
    }
    if (c >= '0' && c <= '7') {
      char32_t code = 0;
      for (int i = 0; i < 3 && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '7'; ++i) {
        code = code * 8 + static_cast<char32_t>(text_[at_++] - '0');
      }
      append_code_point(value, code);
      return {};
    }
    if (c == 'N')
      return error(at_ - 1, "names of characters are not supported", "\\u and 4 digits");
    const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) {
      value += '\\';
      return {};
    }
    uint32_t code = 0;
    const std::string_view hex = text_.substr(at_ + 1, static_cast<size_t>(digits));
    const auto parsed = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
    if (std::ssize(hex) != digits || parsed.ptr != hex.data() + hex.size() ||
        parsed.ec != std::errc() || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
      return error(at_ - 1, "an escape is not a character",
                   std::to_string(digits) + " hexadecimal digits of a character",
                   in_quotes(text_.substr(at_ - 1, 10)));
    }
    append_code_point(value, code);
    at_ += 1 + static_cast<size_t>(digits);
    return {};
  }

  Status read_operator(std::string& brackets) {
    static constexpr std::string_view kOperators[] = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    for (const std::string_view one : kOperators) {
      if (!has(at_, one)) continue;
      if (one == "(") brackets += ')';
      if (one == "[") brackets += ']';
      if (one == "{") brackets += '}';
      if (one == ")" || one == "]" || one == "}") {
        if (brackets.empty() || brackets.back() != one[0]) {
          return error(
              at_, "a bracket does not match",
              brackets.empty() ? "no closing bracket" : in_quotes(std::string(1, brackets.back())),
              in_quotes(one));
        }
        brackets.pop_back();
      }
      add(TokenKind::kOperator, at_, std::string(one));
      at_ += one.size();
      return {};
    }
    return error(at_, "the character has no meaning in a tag",
                 "a name, a number, a text or an operator",
                 in_quotes(text_.substr(at_, code_point_at(text_, at_).length)));
  }

  std::string_view text_, source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  bool line_starting_ = true;
};

}  // namespace

std::string normalized_source(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
      continue;
    }
    out += '\n';
    if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

std::string template_location(std::string_view source, std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  const size_t newline = before.rfind('\n');
  const std::string_view line = newline == kNone ? before : before.substr(newline + 1);
  return std::string(source) + ":" + std::to_string(1 + std::ranges::count(before, '\n')) + ":" +
         std::to_string(1 + count_code_points(line));
}

Result<std::vector<Token>> tokenize(std::string_view text, std::string_view source) {
  return Lexer(text, source).run();
}

}  // namespace tapml::jinja
