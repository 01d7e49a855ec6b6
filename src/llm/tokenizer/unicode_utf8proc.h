// The native Unicode tables.
#pragma once

#include "llm/tokenizer/unicode.h"

namespace tapml::tokenizer {

// utf8proc 2.8 (Unicode 14) or later. Normalization forms are those of Unicode 9, as in the
// tokenizers package: later characters are unchanged. Lower case is that of Unicode 16.
const UnicodeTables& utf8proc_tables();

}  // namespace tapml::tokenizer
