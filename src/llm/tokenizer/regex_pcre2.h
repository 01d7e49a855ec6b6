// The native regular expression engine.
#pragma once

#include "llm/tokenizer/regex.h"

namespace tapml::tokenizer {

// PCRE2 with UTF, Unicode properties and its JIT where the machine allows it.
const RegexEngine& pcre2_regex_engine();

}  // namespace tapml::tokenizer
