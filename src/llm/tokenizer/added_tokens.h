// Tokens that are found in the text itself, before words are cut: special tokens and others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_reader.h"
#include "llm/tokenizer/bpe.h"
#include "llm/tokenizer/normalizer.h"
#include "llm/tokenizer/regex.h"
#include "llm/tokenizer/tokenizer_config.h"

namespace tapml::tokenizer {

// A piece of a text: an added token's id, or -1 and the text between tokens.
struct TextPiece {
  int32_t id = -1;
  Span span;
};

// Immutable once read.
class AddedTokens {
 public:
  // Reads `added_tokens` of a tokenizer.json, which may be absent, and what `config` adds to it.
  // UserError for malformed entries, an empty content, one content or id twice, and an id that is
  // another token's. Flags of `config` replace those of the file: a sentence in `warnings`.
  static Result<AddedTokens> read(const JsonObjectReader& file, const TokenizerConfig& config,
                                  const TokenIds& vocab, const Normalizer& normalizer,
                                  const RegexEngine& engine, std::vector<std::string>& warnings);

  const std::vector<AddedToken>& tokens() const { return tokens_; }

  // Cuts `text` (valid UTF-8) at the tokens it holds that are not normalized: leftmost first, then
  // longest. Pieces are in order; none is empty.
  Result<std::vector<TextPiece>> split(std::string_view text) const;
  // The same with the normalized tokens, for a piece without token after its normalization.
  Result<std::vector<TextPiece>> split_normalized(std::string_view text) const;

 private:
  // A byte trie over the contents of some of the tokens.
  class Trie {
   public:
    // A content that is there already keeps its token.
    void add(std::string_view content, int32_t token);
    // The longest content that starts at `at`, of the token with the index `token`; -1: none.
    struct Match {
      int32_t token = -1;
      size_t end = 0;
    };
    Match longest_at(std::string_view text, size_t at) const;

   private:
    struct Node {
      int32_t first_child = -1;
      int32_t next_sibling = -1;
      int32_t token = -1;
      char byte = 0;
    };
    int32_t child(int32_t node, char byte) const;
    std::vector<Node> nodes_ = std::vector<Node>(1);
    bool starts_[256] = {};
  };

  static Result<AddedToken> read_token(const JsonObjectReader& field);
  Status read_file(const JsonObjectReader& file, const TokenIds& vocab);
  Status add_configured(const TokenizerConfig& config, const TokenIds& vocab,
                        std::vector<std::string>& warnings);
  Status index(const JsonObjectReader& file, const Normalizer& normalizer,
               const RegexEngine& engine);
  Result<std::vector<TextPiece>> split_with(const Trie& trie, std::string_view text) const;
  Result<bool> stands_alone(std::string_view text, Span match) const;
  Result<bool> is_word(std::string_view character) const;

  std::vector<AddedToken> tokens_;
  Trie raw_, normalized_;
  std::unique_ptr<Regex> word_;  // only where a token asks
};

}  // namespace tapml::tokenizer
