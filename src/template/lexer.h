// Cuts a template into tokens, with the white space control of chat templates: the line break after
// a block and the blanks before it are removed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tapml::jinja {

enum class TokenKind : uint8_t {
  kData,
  kBlockBegin,
  kBlockEnd,
  kVariableBegin,
  kVariableEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  uint32_t at = 0;   // the byte of the source where it begins
  std::string text;  // of data and strings, without quotes and escapes
  int64_t integer = 0;
  double real = 0;

  bool is(TokenKind other, std::string_view value) const { return kind == other && text == value; }
  bool is_operator(std::string_view value) const { return is(TokenKind::kOperator, value); }
  bool is_name(std::string_view value) const { return is(TokenKind::kName, value); }
};

// Line breaks as "\n", without the last one: the text that positions count in.
std::string normalized_source(std::string_view text);

// "chat_template.jinja:3:18": the position of a byte of `text`; columns count characters.
std::string template_location(std::string_view source, std::string_view text, size_t at);

// `text` is normalized and valid UTF-8; `source` names it in errors. The last token is kEnd.
Result<std::vector<Token>> tokenize(std::string_view text, std::string_view source);

}  // namespace tapml::jinja
