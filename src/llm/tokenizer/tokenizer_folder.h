// Reads the tokenizer of a folder.
#pragma once

#include <string>

#include "llm/tokenizer/tokenizer_files.h"

namespace tapml::tokenizer {

// tokenizer_file() and read_tokenizer() for the files of a folder on disk.
std::string tokenizer_file(const std::string& folder);
Result<Tokenizer> read_tokenizer(const std::string& folder);

}  // namespace tapml::tokenizer
