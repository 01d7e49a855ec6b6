// Tokens that are searched in the text before it is cut into words: special tokens and others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_reader.h"
#include "llm/tokenizer/byte_trie.h"
#include "llm/tokenizer/normalizer.h"
#include "llm/tokenizer/regex.h"
#include "llm/tokenizer/tokenizer_config.h"
#include "llm/tokenizer/vocabulary.h"

namespace tapml::tokenizer {

// A piece of a text: an added token's id, or -1 and the text between tokens.
struct TextPiece {
  int32_t id = -1;
  Span span;
};

// Immutable after it is read.
class AddedTokens {
 public:
  // Reads `added_tokens` of a tokenizer.json, which may be absent, and the additions of `config`.
  // UserError for malformed entries, an empty content, a repeated content or id, and an id of
  // another token. Flags of `config` override those of the file, with a sentence in `warnings`.
  static Result<AddedTokens> read(const JsonObjectReader& file, const TokenizerConfig& config,
                                  const TokenIds& vocab, const Normalizer& normalizer,
                                  const RegexEngine& engine, std::vector<std::string>& warnings);

  const std::vector<AddedToken>& tokens() const { return tokens_; }

  // Cuts `text` (valid UTF-8) at tokens that are not normalized: leftmost first, then longest.
  // Pieces are in order; none is empty.
  Result<std::vector<TextPiece>> split(std::string_view text) const;
  // The same for normalized tokens, in a piece without tokens, after its normalization.
  Result<std::vector<TextPiece>> split_normalized(std::string_view text) const;

 private:
  static Result<AddedToken> read_token(const JsonObjectReader& field);
  Status read_file(const JsonObjectReader& file, const TokenIds& vocab);
  Status add_configured(const TokenizerConfig& config, const TokenIds& vocab,
                        std::vector<std::string>& warnings);
  Status index(const JsonObjectReader& file, const Normalizer& normalizer,
               const RegexEngine& engine);
  Result<std::vector<TextPiece>> split_with(const ByteTrie& trie, std::string_view text) const;
  Result<bool> stands_alone(std::string_view text, Span match) const;
  Result<bool> is_word(std::string_view character) const;

  std::vector<AddedToken> tokens_;
  ByteTrie raw_, normalized_;    // contents, with the indices of their tokens
  std::unique_ptr<Regex> word_;  // only if a token needs it
};

}  // namespace tapml::tokenizer
