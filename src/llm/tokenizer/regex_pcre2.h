// The native regular expression engine.
#pragma once

#include "llm/tokenizer/regex.h"

namespace tapml::tokenizer {

// PCRE2 with UTF, Unicode properties and its JIT where the machine allows it. Characters have the
// properties of the Unicode version that the installed library knows (10.42: Unicode 14), so that
// characters assigned later count as unassigned.
const RegexEngine& pcre2_regex_engine();

}  // namespace tapml::tokenizer
