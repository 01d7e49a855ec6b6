// Tokens of the text format, and their locations for messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapml::text {

enum class TokenKind : uint8_t {
  kName,        // identifier or keyword
  kQuotedName,  // in backquotes: never a keyword
  kInteger,     // decimal or 0x, without sign
  kFloat,       // has a point, an exponent or a binary exponent
  kString,
  kSymbol,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // as written; a view of the source
  std::string value;      // contents of strings and quoted names
  size_t offset = 0;
};

// The text that is parsed, and its error messages.
class Source {
 public:
  Source(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  std::string_view text() const { return text_; }
  std::string_view file() const { return file_; }
  // "file:3:8", then the line and a caret under column 8. Columns count characters from 1.
  std::string place(size_t offset) const;
  // "3:8".
  std::string line_and_column(size_t offset) const;
  // UserError at `offset`.
  [[noreturn]] void fail(size_t offset, std::string message, std::string expected = "",
                         std::string found = "", std::string hint = "") const;

 private:
  std::string_view text_;
  std::string_view file_;
};

// All tokens, the last one kEnd. Comments run from # to the end of the line.
std::vector<Token> tokenize(const Source& source);

// "name 'x'", "'}'", "the end of the text".
std::string describe(const Token& token);

}  // namespace tapml::text
