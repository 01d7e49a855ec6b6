// SentencePiece's models (Kudo and Richardson 2018): a whole text, normalized, becomes pieces of a
// vocabulary, either the most likely ones (unigrams) or those that merges of pairs make.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "llm/tokenizer/byte_trie.h"
#include "llm/tokenizer/characters_map.h"
#include "llm/tokenizer/sentencepiece_file.h"
#include "llm/tokenizer/vocabulary.h"

namespace tapml::tokenizer {

// Immutable after it is made.
class SentencePieceModel {
 public:
  // UserError for a file without an unknown piece, with byte fallback but without a piece for each
  // byte, and for a damaged map of characters. `prefix_once`: the mark of a space is put before the
  // beginning of a whole text only, not before each part that follows a special token.
  static Result<SentencePieceModel> make(SentencePieceFile file, std::string_view source,
                                         bool prefix_once = false);

  // The vocabulary, from text to id.
  const TokenIds& vocab() const { return vocab_; }
  const SentencePieceFile& file() const { return file_; }
  int32_t unknown() const { return unknown_; }

  // The text as the pieces spell it: characters replaced, extra spaces removed, spaces as "▁".
  std::string normalized(std::string_view text, bool at_start = true) const;
  // Appends the ids of a part of a text (valid UTF-8).
  void encode(std::string_view text, bool at_start, std::vector<int32_t>& ids) const;

 private:
  struct Piece {
    int32_t id = -1;  // -1: none
    size_t begin = 0, end = 0;
  };
  CharactersMap::Match normalized_prefix(std::string_view text) const;
  std::vector<Piece> unigrams(std::string_view text) const;
  std::vector<Piece> pairs(std::string_view text) const;

  SentencePieceFile file_;
  CharactersMap characters_;
  TokenIds vocab_;         // all pieces
  TokenIds pieces_;        // those that a text may become: normal, user-defined and unused ones
  ByteTrie trie_;          // of these
  ByteTrie user_defined_;  // of the user-defined ones
  std::vector<int32_t> byte_ids_;
  int32_t unknown_ = -1;
  float lowest_ = 0, highest_ = 0;  // scores of normal pieces
  bool prefix_once_ = false;
};

}  // namespace tapml::tokenizer
