// Which tokens may follow, so that a text satisfies a grammar.
//
// The grammar is a pushdown automaton. Its states are found as they are reached, and kept: a state
// is the set of stacks of what must still come, a stack is a chain of shared nodes, and each state
// keeps its successor for each byte and its mask of tokens. The inside of a JSON string is one
// state, for example, so that its mask is computed once. The tokens are in a trie, so that a mask
// costs a step for each beginning of tokens that the grammar allows, and no more.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "llm/grammar/grammar.h"
#include "llm/tokenizer/tokenizer.h"

namespace tapml::llm {

// The texts of a tokenizer's tokens. Immutable, therefore thread-safe. Special tokens, and tokens
// that are a part of a character, are in no constrained text.
class TokenTexts {
 public:
  TokenTexts() : trie_(1) {}  // of no tokens
  explicit TokenTexts(const Tokenizer& tokenizer);

  struct Node {
    std::vector<std::pair<uint8_t, int32_t>> next;  // a byte and its node
    std::vector<int32_t> tokens;                    // that end here
  };
  const std::vector<Node>& trie() const { return trie_; }
  const std::string& text(int32_t token) const { return texts_[static_cast<size_t>(token)]; }
  int64_t size() const { return static_cast<int64_t>(texts_.size()); }

 private:
  std::vector<std::string> texts_;  // empty: in no text
  std::vector<Node> trie_;          // node 0 is the root
};

// The position of one text in a grammar. Not thread-safe.
class TokenMask {
 public:
  // `tokens` outlives it. `end_tokens` may follow where the text is complete. `most_steps`: stacks
  // that are looked at for the whole text; the default is seconds of work, and far more than
  // schemas take.
  TokenMask(std::shared_ptr<const Grammar> grammar, const TokenTexts& tokens,
            std::vector<int32_t> end_tokens, int64_t most_steps = 20'000'000);

  // Sets the logits of tokens that may not follow to -infinity: all of them if the grammar is so
  // ambiguous that this would take too long.
  void apply(std::span<float> logits);
  // Goes on with a token that may follow; returns whether anything but the end may follow it.
  bool accept(int32_t token);
  // Whether a text is one that the grammar allows. For tests.
  bool matches(std::string_view text);

 private:
  struct Stack {
    int32_t element;  // where it goes on
    int32_t below;    // the stack to return to; -1: none
  };
  struct State {
    std::vector<int32_t> stacks;  // whose elements are sets of bytes
    bool can_end = false;
    bool has_mask = false;
    std::array<int32_t, 256> next;  // kUnknown, or kDead
    std::vector<bool> mask;         // of tokens
  };
  static constexpr int32_t kUnknown = -2, kDead = -1;

  int32_t stack(int32_t element, int32_t below);
  // Adds what a stack goes on with.
  void expand(int32_t stack, State& state, std::set<int32_t>& seen);
  int32_t state_of(State state);
  int32_t next(int32_t state, uint8_t byte);
  const std::vector<bool>& mask(int32_t state);

  std::shared_ptr<const Grammar> grammar_;
  const TokenTexts& tokens_;
  const std::vector<int32_t> end_tokens_;
  std::vector<Stack> stacks_;
  std::map<std::pair<int32_t, int32_t>, int32_t> known_stacks_;
  std::vector<State> states_;
  std::map<std::pair<std::vector<int32_t>, bool>, int32_t> known_states_;
  int32_t start_ = kDead, state_ = kDead;
  int64_t steps_ = 0;
  const int64_t most_steps_;
};

}  // namespace tapml::llm
