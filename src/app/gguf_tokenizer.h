// The tokenizer of a model folder as a GGUF file has it.
#pragma once

#include <string>

#include "frontend/gguf/export_tokenizer.h"
#include "io/gguf.h"
#include "llm/tokenizer/tokenizer.h"

namespace tapml::app {

// Of a folder with a tokenizer.json. UserError for other files.
frontend::GgufTokenizerSource gguf_tokenizer_source(const std::string& folder,
                                                    const Tokenizer& tokenizer);

// UserError unless the tokenizer of `file` gives the tokens of `tokenizer`, which `source` names,
// for texts of many kinds.
void check_same_tokens(const GgufFile& file, const Tokenizer& tokenizer, const std::string& source);

}  // namespace tapml::app
