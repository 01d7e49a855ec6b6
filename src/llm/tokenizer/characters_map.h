// The map of a SentencePiece normalizer: texts and what replaces them, in a double array trie.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tapml::tokenizer {

// Immutable after it is made.
class CharactersMap {
 public:
  CharactersMap() = default;  // replaces nothing
  // `bytes`: the size of the trie, the trie, and the replacements, each of which ends with a zero.
  // UserError for other bytes; `source` names them.
  static Result<CharactersMap> make(std::string_view bytes, std::string_view source);

  struct Match {
    std::string_view by;  // valid UTF-8
    size_t length = 0;    // of what it replaces
  };
  // The longest text of the map that `text` begins with.
  std::optional<Match> longest(std::string_view text) const;
  // The shortest one.
  std::optional<Match> shortest(std::string_view text) const;
  bool empty() const { return units_.empty(); }

 private:
  std::optional<Match> match(std::string_view text, bool longest) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace tapml::tokenizer
