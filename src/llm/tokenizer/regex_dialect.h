// Rewrites Oniguruma patterns (Ruby syntax) into patterns that mean the same to PCRE2.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tapml::tokenizer {

// The two dialects differ in what \s, \w, \b, \v and \h hold, in how code points are spelled, in
// the letter for "dot matches newline", in {,n} and {n,m}+ (there a repetition of a repetition,
// here a possessive one), and in classes inside of classes and their intersections, which become
// one class. Properties of characters are those of Unicode 16. UserError, with the byte offset in
// `pattern`, for what has no counterpart.
Result<std::string> onig_to_pcre2(std::string_view pattern);

}  // namespace tapml::tokenizer
