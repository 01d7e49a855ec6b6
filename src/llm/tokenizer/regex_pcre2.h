// The native regular expression engine.
#pragma once

#include "llm/tokenizer/regex.h"

namespace tapml::tokenizer {

// PCRE2 with UTF, Unicode properties and, if the machine allows it, its JIT. Character properties
// are those of the installed library's Unicode version (10.42: Unicode 14); characters assigned
// later count as unassigned.
const RegexEngine& pcre2_regex_engine();

}  // namespace tapml::tokenizer
