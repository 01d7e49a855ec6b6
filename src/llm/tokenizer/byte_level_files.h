// What a tokenizer.json would say for byte-level BPE in older files: vocab.json with merges.txt,
// and the vocabularies of tiktoken. The class that tokenizer_config.json names decides how texts
// are cut into words.
#pragma once

#include <string>
#include <string_view>

#include "io/json.h"
#include "llm/tokenizer/tokenizer_config.h"

namespace tapml::tokenizer {

// The whole document. UserError for texts of another form, and for a class whose words are unknown.
Result<Json> document_of_merges(std::string_view vocab, std::string_view vocab_source,
                                std::string_view merges, std::string_view merges_source,
                                const TokenizerConfig& config);

// Everything but the model. The class may be any: words are those of Llama 3 unless it is one of
// Qwen's or Kimi's.
Json document_of_tiktoken(const TokenizerConfig& config);

// The added tokens of a tokenizer.json, of those whose ids `config` gives.
Json added_tokens_of(const TokenizerConfig& config);

}  // namespace tapml::tokenizer
