// Character classes in a pattern: [...] with nested classes and &&, \p{...}, \w, ...
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "llm/tokenizer/code_set.h"
#include "llm/tokenizer/regex_cursor.h"

namespace tapml::tokenizer {

// A set of characters as the inside of a PCRE2 class. The text names properties that PCRE2 knows,
// which is shorter and matches faster than all ranges of the set.
class ClassItems {
 public:
  ClassItems() = default;
  explicit ClassItems(CodeSet set);
  // A property of Unicode 16, or of PCRE2 if our tables lack the name. `negated`: its complement.
  static ClassItems property(std::string_view name, bool negated);

  void add(const ClassItems& other);
  // None if only PCRE2 knows one of the properties.
  const std::optional<CodeSet>& set() const { return set_; }
  // The set in brackets; "(?!)" for the empty set.
  std::string in_brackets(bool negated = false) const;

 private:
  std::optional<CodeSet> set_ = CodeSet();
  std::string text_;
};

// \s, \w inside brackets, \d, \h.
const ClassItems& class_of_letter(char letter);
// \w, \W, \b and \B outside of brackets, where they also include the Latin-1 numbers that are not
// digits.
const ClassItems& word_alone();

// Converts the class at the cursor, a '[', to PCRE2's syntax; UserError for a malformed class.
Result<std::string> translate_class(RegexCursor& cursor);

}  // namespace tapml::tokenizer
