// WordPiece: words as the longest pieces of the vocabulary, from the left (Schuster and Nakajima
// 2012; the tokenizer of BERT).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "llm/tokenizer/vocabulary.h"

namespace tapml::tokenizer {

// Immutable after it is read.
class WordPieceModel {
 public:
  // Reads the object `model` of a tokenizer.json whose type is WordPiece. UserError for a
  // vocabulary as of read_vocabulary(), one without the unknown token, and a limit of characters
  // that is out of range.
  static Result<WordPieceModel> read(const JsonObjectReader& model);

  // The vocabulary, from token text to id, without added tokens.
  const TokenIds& vocab() const { return vocab_; }

  // Appends the ids of one word (valid UTF-8): its pieces, which but for the first one are in the
  // vocabulary with a prefix; the unknown token for a word that they do not make, and for one of
  // too many characters.
  void encode(std::string_view word, std::vector<int32_t>& ids) const;

 private:
  TokenIds vocab_;
  std::string prefix_;
  size_t longest_ = 0;  // token, in bytes
  size_t most_characters_ = 0;
  int32_t unknown_id_ = -1;
};

}  // namespace tapml::tokenizer
