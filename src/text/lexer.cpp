#include "text/lexer.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "ir/exceptions.h"
#include "text/names.h"

namespace tapml::text {

namespace {

// The excerpt of a long line around the caret.
constexpr size_t kExcerptBefore = 80;
constexpr size_t kExcerptAfter = 100;

// With its blanks; and the most tokens for which memory is reserved.
constexpr size_t kBytesOfToken = 4, kMostReserved = 1 << 16;

// Each has two characters.
constexpr std::array<std::string_view, 7> kLongSymbols = {"->", "//", "==", "!=", "<=", ">=", "+:"};
constexpr std::string_view kShortSymbols = "()[]{},:=@+-*/%<>";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

class Lexer {
 public:
  explicit Lexer(const Source& source) : source_(source), text_(source.text()) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    tokens.reserve(std::min(text_.size() / kBytesOfToken, kMostReserved));
    while (true) {
      skip_blanks();
      tokens.push_back(next());
      if (tokens.back().kind == TokenKind::kEnd) return tokens;
    }
  }

 private:
  char at(size_t offset) const { return offset < text_.size() ? text_[offset] : '\0'; }

  void skip_blanks() {
    while (position_ < text_.size()) {
      char c = text_[position_];
      if (c == '#') {
        position_ = std::min(text_.find('\n', position_), text_.size());
      } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
        ++position_;
      } else {
        return;
      }
    }
  }

  Token make(TokenKind kind, size_t end, std::string value = {}) {
    Token token{kind, text_.substr(position_, end - position_), std::move(value), position_};
    position_ = end;
    return token;
  }

  Token next() {
    if (position_ >= text_.size()) return make(TokenKind::kEnd, position_);
    char c = text_[position_];
    if (is_identifier_start(c)) return name();
    if (is_digit(c)) return number();
    if (c == '"') return string(TokenKind::kString);
    if (c == '`') return string(TokenKind::kQuotedName);
    for (std::string_view symbol : kLongSymbols) {
      if (c == symbol[0] && at(position_ + 1) == symbol[1]) {
        return make(TokenKind::kSymbol, position_ + symbol.size());
      }
    }
    if (kShortSymbols.find(c) != std::string_view::npos) {
      return make(TokenKind::kSymbol, position_ + 1);
    }
    size_t length = std::max<size_t>(utf8_sequence_length(text_, position_), 1);
    source_.fail(position_, "a character that the text format does not use", "",
                 in_quotes(text_.substr(position_, length)),
                 c == '\'' ? "strings are written in double quotes" : "");
  }

  Token name() {
    size_t end = position_;
    while (is_identifier_char(at(end)) || (at(end) == '.' && is_identifier_char(at(end + 1)))) {
      ++end;
    }
    return make(TokenKind::kName, end);
  }

  Token number() {
    size_t end = position_;
    bool is_float = false;
    if (at(end) == '0' && at(end + 1) == 'x') {
      end += 2;
      while (is_hex_digit(at(end))) ++end;
      if (at(end) == '.' && is_hex_digit(at(end + 1))) {
        is_float = true;
        ++end;
        while (is_hex_digit(at(end))) ++end;
      }
      if (at(end) == 'p') is_float = exponent(end) || is_float;
    } else {
      while (is_digit(at(end))) ++end;
      if (at(end) == '.' && is_digit(at(end + 1))) {
        is_float = true;
        ++end;
        while (is_digit(at(end))) ++end;
      }
      if (at(end) == 'e') is_float = exponent(end) || is_float;
    }
    if (is_identifier_char(at(end)) || at(end) == '.') {
      source_.fail(end, "a malformed number", "digits such as 12, 1.5, 1e-3 or 0x1.8p1",
                   in_quotes(text_.substr(position_, end + 1 - position_)));
    }
    return make(is_float ? TokenKind::kFloat : TokenKind::kInteger, end);
  }

  // Skips an exponent whose letter is at `end`; false if no digits follow.
  bool exponent(size_t& end) const {
    size_t digits = end + 1;
    if (at(digits) == '+' || at(digits) == '-') ++digits;
    if (!is_digit(at(digits))) return false;
    while (is_digit(at(digits))) ++digits;
    end = digits;
    return true;
  }

  int hex_value(size_t offset) const {
    char c = at(offset);
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    source_.fail(offset, "a malformed \\x escape", "two hexadecimal digits");
  }

  Token string(TokenKind kind) {
    char quote = text_[position_];
    std::string value;
    size_t end = position_ + 1;
    while (at(end) != quote) {
      if (end >= text_.size() || text_[end] == '\n') {
        source_.fail(position_, "an unterminated string", std::string("a closing ") + quote);
      }
      if (text_[end] != '\\') {
        value += text_[end++];
        continue;
      }
      char escape = at(end + 1);
      if (escape == 'x') {
        value += static_cast<char>(hex_value(end + 2) * 16 + hex_value(end + 3));
        end += 4;
        continue;
      }
      if (escape != 'n' && escape != 't' && escape != '\\' && escape != '"') {
        source_.fail(end, "an unknown escape in a string", "\\n, \\t, \\\", \\\\ or \\xNN");
      }
      value += escape == 'n' ? '\n' : escape == 't' ? '\t' : escape;
      end += 2;
    }
    return make(kind, end + 1, std::move(value));
  }

  const Source& source_;
  std::string_view text_;
  size_t position_ = 0;
};

struct Place {
  size_t line = 1, column = 1, start = 0;
};

Place find_place(std::string_view text, size_t offset) {
  Place place;
  for (size_t i = 0; i < offset && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++place.line;
      place.start = i + 1;
    }
  }
  for (size_t i = place.start; i < offset && i < text.size();) {
    i += std::max<size_t>(utf8_sequence_length(text, i), 1);
    ++place.column;
  }
  return place;
}

}  // namespace

std::string Source::line_and_column(size_t offset) const {
  Place place = find_place(text_, offset);
  return std::to_string(place.line) + ":" + std::to_string(place.column);
}

std::string Source::place(size_t offset) const {
  Place place = find_place(text_, offset);
  size_t end = std::min(text_.find('\n', place.start), text_.size());
  size_t begin = place.start;
  if (offset > begin + kExcerptBefore) begin = offset - kExcerptBefore;
  while (begin < offset && (text_[begin] & 0xc0) == 0x80) ++begin;
  end = std::min(end, offset + kExcerptAfter);
  std::string line, caret;
  for (size_t i = begin; i < end;) {
    size_t length = utf8_sequence_length(text_, i);
    bool printable = length > 0 && (static_cast<uint8_t>(text_[i]) >= 0x20 || text_[i] == '\t') &&
                     i + length <= end;
    line += printable ? std::string(text_.substr(i, length)) : "?";
    if (i < offset) caret += text_[i] == '\t' ? '\t' : ' ';
    i += std::max<size_t>(length, 1);
  }
  return std::string(file_) + ":" + std::to_string(place.line) + ":" +
         std::to_string(place.column) + "\n    " + line + "\n    " + caret + "^";
}

void Source::fail(size_t offset, std::string message, std::string expected, std::string found,
                  std::string hint) const {
  throw_user(std::move(message), place(offset), std::move(expected), std::move(found),
             std::move(hint));
}

std::vector<Token> tokenize(const Source& source) { return Lexer(source).run(); }

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kString:
      return "the string " + in_quotes(token.value, 40);
    case TokenKind::kName:
    case TokenKind::kQuotedName:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
    case TokenKind::kSymbol:
      return "'" + std::string(token.text.substr(0, 40)) + "'";
    case TokenKind::kEnd:
      return "the end of the text";
  }
  return "";
}

}  // namespace tapml::text
