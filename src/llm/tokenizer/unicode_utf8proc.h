// The native Unicode tables.
#pragma once

#include "llm/tokenizer/unicode.h"

namespace tapml::tokenizer {

// utf8proc. Characters have the properties of the Unicode version that the installed library knows
// (2.8: Unicode 14); those assigned later stay as they are.
const UnicodeTables& utf8proc_tables();

}  // namespace tapml::tokenizer
