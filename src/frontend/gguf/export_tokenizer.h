// The tokenizer's metadata of a GGUF file that is made of a published model: the inverse of
// gguf_tokenizer().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/gguf_writer.h"

namespace tapml::frontend {

struct GgufTokenizerSource {
  std::string json;    // the text of the tokenizer.json
  std::string source;  // its name in errors
  // By id, as the tokenizer.json spells them; empty: no such token.
  std::vector<std::string> tokens;
  std::vector<bool> special;             // of each
  std::map<std::string, int32_t> roles;  // "bos", "unknown", "padding"
  std::vector<int32_t> ends;             // what ends a text, the tokenizer's own end first
  bool adds_bos = false, adds_eos = false;
  std::optional<std::string> chat_template;
};

// `vocabulary` counts the rows of the embedding: ids without a token get one that is never used.
// UserError for a model other than BPE, for words that no pre-tokenizer of llama.cpp makes, and for
// more tokens than the vocabulary has.
void write_gguf_tokenizer(const GgufTokenizerSource& tokenizer, int64_t vocabulary,
                          GgufMetadata& to);

}  // namespace tapml::frontend
