// Reads the vocabularies of tiktoken: a line for each token, with its bytes in base64 and its rank.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/tokenizer/rwkv_vocabulary.h"

namespace tapml::tokenizer {

// Whether `bytes` begin like such a file. A SentencePiece model has the same name.
bool is_tiktoken_file(std::string_view bytes);

// The tokens with their ranks as ids. `source` names the text in errors. UserError for another form
// of line, and for ranks and tokens that occur twice.
Result<std::vector<RwkvToken>> read_tiktoken_file(std::string_view text, std::string_view source);

}  // namespace tapml::tokenizer
