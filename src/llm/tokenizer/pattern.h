// The pattern of Split and Replace: a regular expression or a literal text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_reader.h"
#include "llm/tokenizer/regex.h"

namespace tapml::tokenizer {

class Pattern {
 public:
  // Reads the member `pattern` of `holder`: {"Regex": ...} or {"String": ...}. UserError for
  // another kind, an empty text, and an expression that does not compile.
  static Result<Pattern> read(const JsonObjectReader& holder, const RegexEngine& engine);
  static Result<Pattern> regex(std::string_view expression, const RegexEngine& engine);
  static Pattern literal(std::string text);  // not empty

  // The text, or nullptr for a regular expression.
  const std::string* text() const { return regex_ ? nullptr : &text_; }

  // Appends the matches in `text` (valid UTF-8), leftmost first and without overlap.
  Status find_all(std::string_view text, std::vector<Span>& matches) const;
  // Replaces every match in `text` by `content`. UserError if the result exceeds `max_size` bytes:
  // a file may ask for any number of nested replacements.
  Result<std::string> replace_all(std::string_view text, std::string_view content,
                                  size_t max_size) const;

 private:
  std::unique_ptr<Regex> regex_;
  std::string text_;
};

}  // namespace tapml::tokenizer
