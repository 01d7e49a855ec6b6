// Properties of characters by name, as Unicode 16 has them: the regular expressions of the
// tokenizers package know that version.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "llm/tokenizer/code_set.h"

namespace tapml::tokenizer {

struct UnicodeProperty {
  CodeSet members;
  // What a library of Unicode 14 or later calls it, and what it may lack; empty where that library
  // may have members that Unicode 16 has not.
  std::string library_name;
  CodeSet newer;
};

// General categories ("Lu", "Letter"), scripts without their extensions ("Han"), binary properties
// ("Alphabetic") and POSIX brackets ("alnum"). Case, spaces, '-' and '_' in names do not count.
std::optional<UnicodeProperty> unicode_property(std::string_view name);

// Properties of older versions, which fixed steps of the tokenizers package use.
enum class FixedProperty : unsigned char {
  kPunctuation8,     // punctuation of Unicode 8
  kNonspacingMark8,  // marks without a width of their own
  kControl8,         // control and format characters, private use
  kMark9,
  kAssignedSince9,  // in Unicode 16 and not in Unicode 9
};
const CodeSet& fixed_property(FixedProperty property);

// The simple lower case where it is new since Unicode 14; else the character itself.
char32_t newer_lower_case(char32_t code_point);

// The script that a character had in Unicode 9; empty where it had none.
std::string_view script_of_unicode_9(char32_t code_point);

}  // namespace tapml::tokenizer
