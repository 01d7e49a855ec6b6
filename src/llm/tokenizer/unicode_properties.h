// Properties of characters by name, as in Unicode 16, the version of the tokenizers package's
// regular expressions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "llm/tokenizer/code_set.h"

namespace tapml::tokenizer {

struct UnicodeProperty {
  CodeSet members;
  // Its name in a library of Unicode 14 or later, and members that the library may lack; empty if
  // the library may have members that Unicode 16 does not.
  std::string library_name;
  CodeSet newer;
};

// General categories ("Lu", "Letter"), scripts without their extensions ("Han"), binary properties
// ("Alphabetic") and POSIX brackets ("alnum"). Ignores case, spaces, '-' and '_' in names.
std::optional<UnicodeProperty> unicode_property(std::string_view name);

// Properties of older versions, which some steps of the tokenizers package use.
enum class FixedProperty : unsigned char {
  kPunctuation8,     // punctuation of Unicode 8
  kNonspacingMark8,  // non-spacing marks of Unicode 8
  kControl8,         // control and format characters, and private use
  kMark9,
  kAssignedSince9,  // in Unicode 16 but not in Unicode 9
};
const CodeSet& fixed_property(FixedProperty property);

// The simple lower case if it is new since Unicode 14, otherwise the character itself.
char32_t newer_lower_case(char32_t code_point);

// The script of a character in Unicode 9; empty for none.
std::string_view script_of_unicode_9(char32_t code_point);

}  // namespace tapml::tokenizer
