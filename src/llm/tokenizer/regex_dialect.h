// Rewrites Oniguruma patterns (Ruby syntax) into patterns that mean the same to PCRE2.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tapml::tokenizer {

// The two dialects differ in what \s, \w, \b and \h hold, in the letter for "dot matches newline",
// and in {,n}. UserError, with the byte offset in `pattern`, for what has no counterpart: nested
// classes, class intersection, \W, \H, [:graph:] and [:print:] inside a class, and {n,m}+ (there a
// repetition of a repetition, here a possessive one).
Result<std::string> onig_to_pcre2(std::string_view pattern);

}  // namespace tapml::tokenizer
