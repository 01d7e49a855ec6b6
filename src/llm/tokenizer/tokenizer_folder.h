// Reads the tokenizer of a folder: tokenizer.json and the files next to it.
#pragma once

#include <string>

#include "llm/tokenizer/tokenizer.h"

namespace tapml::tokenizer {

// The first is required, the others are optional.
inline constexpr const char* kTokenizerFileNames[] = {
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"};

// Uses this platform's regular expressions and Unicode tables. UserError as for Tokenizer::parse,
// and for a file that cannot be read.
Result<Tokenizer> read_tokenizer(const std::string& folder);

}  // namespace tapml::tokenizer
