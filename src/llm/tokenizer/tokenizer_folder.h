// The tokenizer of a folder: tokenizer.json and the files beside it.
#pragma once

#include <string>

#include "llm/tokenizer/tokenizer.h"

namespace tapml::tokenizer {

// The first is needed, the others may be absent.
inline constexpr const char* kTokenizerFileNames[] = {
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"};

// With this platform's regular expressions and Unicode tables. UserError as for Tokenizer::parse,
// and for a file that cannot be read.
Result<Tokenizer> read_tokenizer(const std::string& folder);

}  // namespace tapml::tokenizer
