// Unigrams as a tokenizer.json has them (Kudo 2018): a word as its most likely pieces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_reader.h"
#include "llm/tokenizer/byte_trie.h"
#include "llm/tokenizer/vocabulary.h"

namespace tapml::tokenizer {

// Immutable after it is read.
class UnigramModel {
 public:
  // Reads the object `model` of a tokenizer.json whose type is Unigram. UserError for a vocabulary
  // that is not a list of texts and scores, is empty, too large or has a text twice, and for an
  // unknown id that is missing or not in it.
  static Result<UnigramModel> read(const JsonObjectReader& model);

  // The vocabulary, from token text to id, without added tokens.
  const TokenIds& vocab() const { return vocab_; }

  // Appends the ids of one word (valid UTF-8). Neighboring characters without a piece become the
  // tokens <0xHH> of their bytes, with byte fallback and if all of these exist, or else one unknown
  // token.
  void encode(std::string_view word, std::vector<int32_t>& ids) const;

 private:
  void encode_part(std::string_view text, std::vector<int32_t>& ids) const;

  TokenIds vocab_;
  ByteTrie trie_;
  std::vector<double> scores_;  // by id
  double unknown_score_ = 0;
  int32_t unknown_id_ = -1;
  bool byte_fallback_ = false;
};

}  // namespace tapml::tokenizer
