// Whether two models read and write the same tokens.
#pragma once

#include "llm/tokenizer/tokenizer.h"

namespace tapml::llm {

// UserError that names the first difference: the number of tokens, or the text of a token.
Status check_same_vocabulary(const Tokenizer& model, const Tokenizer& draft);

}  // namespace tapml::llm
