// Texts as the longest tokens of a vocabulary of bytes, from the left (RWKV's World models).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "llm/tokenizer/byte_trie.h"
#include "llm/tokenizer/rwkv_vocabulary.h"
#include "llm/tokenizer/vocabulary.h"

namespace tapml::tokenizer {

// Immutable after it is made.
class LongestMatchModel {
 public:
  // UserError for a vocabulary without a token for each byte: it could not spell every text.
  // `source` names it.
  static Result<LongestMatchModel> make(const std::vector<RwkvToken>& tokens,
                                        std::string_view source);

  // The vocabulary, from the tokens in the byte alphabet to their ids.
  const TokenIds& vocab() const { return vocab_; }

  // Appends the ids of `bytes`.
  void encode(std::string_view bytes, std::vector<int32_t>& ids) const;

 private:
  TokenIds vocab_;
  ByteTrie trie_;
};

}  // namespace tapml::tokenizer
