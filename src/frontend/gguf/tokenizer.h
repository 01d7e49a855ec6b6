// The published form of a GGUF file's tokenizer.
#pragma once

#include <string>

#include "frontend/gguf/fields.h"

namespace tapml::frontend {

// The text of the tokenizer.json that the model would have: byte-level BPE ("gpt2", by the name of
// its pre-tokenizer), or BPE on characters whose merges follow from the scores of the tokens
// ("llama", SentencePiece's). UserError for another kind, an unknown pre-tokenizer and lists that
// do not belong together.
std::string gguf_tokenizer(const GgufFields& fields);

// The text of its tokenizer_config.json: the tokens that begin and end a text, whether they are
// added to a prompt, and the chat template.
std::string gguf_tokenizer_config(const GgufFields& fields);

}  // namespace tapml::frontend
