// A reader of patterns in the dialect of tokenizer files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tapml::tokenizer {

class RegexCursor {
 public:
  explicit RegexCursor(std::string_view pattern) : pattern_(pattern) {}

  std::string_view pattern() const { return pattern_; }
  std::string_view rest() const { return pattern_.substr(at_); }
  size_t at() const { return at_; }
  bool done() const { return at_ >= pattern_.size(); }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0';
  }
  void skip(size_t bytes) { at_ += bytes; }
  bool take(std::string_view text);
  // Returns the current character and moves past it.
  char32_t take_character();

  // Moves past an escape that denotes one code point (\x{6c}, \x6c, \u006c, \v, \cA and the like);
  // otherwise does not move. `in_class`: digits are octal and \b is a backspace.
  Result<std::optional<char32_t>> take_escaped(bool in_class);
  // Moves past \p{...}, \P{...} or \p{^...} and returns the name; nothing without braces.
  struct PropertyName {
    std::string_view name;
    bool negated = false;
  };
  std::optional<PropertyName> take_property();

  std::unexpected<Error> refuse(std::string what, size_t at) const;

 private:
  Result<std::optional<char32_t>> take_hexadecimal();

  std::string_view pattern_;
  size_t at_ = 0;
};

}  // namespace tapml::tokenizer
