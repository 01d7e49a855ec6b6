// Classes of characters in a pattern: [...] with classes inside of it and &&, \p{...}, \w, ...
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "llm/tokenizer/code_set.h"
#include "llm/tokenizer/regex_cursor.h"

namespace tapml::tokenizer {

// A set of characters as the inside of one of PCRE2's classes. Text is shorter and matches faster
// than all ranges of the set, because it names properties that PCRE2 knows.
class ClassItems {
 public:
  ClassItems() = default;
  explicit ClassItems(CodeSet set);
  // Unicode 16's, or PCRE2's where our tables lack the name. `negated`: all but these.
  static ClassItems property(std::string_view name, bool negated);

  void add(const ClassItems& other);
  // None where only PCRE2 knows a property.
  const std::optional<CodeSet>& set() const { return set_; }
  // In brackets; "(?!)" for no character.
  std::string in_brackets(bool negated = false) const;

 private:
  std::optional<CodeSet> set_ = CodeSet();
  std::string text_;
};

// \s, \w inside brackets, \d, \h.
const ClassItems& class_of_letter(char letter);
// \w, \W, \b and \B outside of brackets, where they also take the Latin-1 numbers that are no
// digits.
const ClassItems& word_alone();

// The class at the cursor, a '[', as PCRE2 takes it; UserError for one that is malformed.
Result<std::string> translate_class(RegexCursor& cursor);

}  // namespace tapml::tokenizer
