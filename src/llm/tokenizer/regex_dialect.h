// Converts Oniguruma patterns (Ruby syntax) to equivalent PCRE2 patterns.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tapml::tokenizer {

// The dialects differ in the contents of \s, \w, \b, \v and \h, in the spelling of code points, in
// the letter for "dot matches newline", in {,n} and {n,m}+ (a repeated repetition in Oniguruma, a
// possessive one in PCRE2), and in nested classes and their intersections, which become one class.
// Character properties are those of Unicode 16. UserError, with the byte offset in `pattern`, for
// syntax without an equivalent.
Result<std::string> onig_to_pcre2(std::string_view pattern);

}  // namespace tapml::tokenizer
