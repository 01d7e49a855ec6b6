#include "llm/grammar/token_mask.h"

#include <algorithm>
#include <limits>

namespace tapml::llm {

namespace {

// A token's text within a text: what it adds after another token.
class TextsOfTokens {
 public:
  explicit TextsOfTokens(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
    for (int32_t id = 0; id < tokenizer.vocab_size() && anchor_ < 0; ++id) {
      const std::string text = tokenizer.decode(std::span(&id, 1));
      if (!tokenizer.is_special(id) && text == "a") anchor_ = id;
    }
  }

  std::string operator()(int32_t id) const {
    if (!tokenizer_.id_to_token(id) || tokenizer_.is_special(id)) return "";
    std::string text;
    if (anchor_ < 0) {
      text = tokenizer_.decode(std::span(&id, 1));
    } else {
      const int32_t pair[] = {anchor_, id};
      text = tokenizer_.decode(pair).substr(1);
    }
    // A part of a character has no text of its own.
    return text.contains("\xEF\xBF\xBD") ? "" : text;
  }

 private:
  const Tokenizer& tokenizer_;
  int32_t anchor_ = -1;
};

}  // namespace

TokenTexts::TokenTexts(const Tokenizer& tokenizer) : trie_(1) {
  const TextsOfTokens text_of(tokenizer);
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    texts_.push_back(text_of(id));
    if (texts_.back().empty()) continue;
    int32_t node = 0;
    for (const char c : texts_.back()) {
      const auto byte = static_cast<uint8_t>(c);
      auto& next = trie_[static_cast<size_t>(node)].next;
      const auto at = std::ranges::find(next, byte, &std::pair<uint8_t, int32_t>::first);
      if (at != next.end()) {
        node = at->second;
        continue;
      }
      node = static_cast<int32_t>(trie_.size());
      next.emplace_back(byte, node);
      trie_.emplace_back();
    }
    trie_[static_cast<size_t>(node)].tokens.push_back(id);
  }
}

TokenMask::TokenMask(std::shared_ptr<const Grammar> grammar, const TokenTexts& tokens,
                     std::vector<int32_t> end_tokens, int64_t most_steps)
    : grammar_(std::move(grammar)),
      tokens_(tokens),
      end_tokens_(std::move(end_tokens)),
      most_steps_(most_steps) {
  State first;
  std::set<int32_t> seen;
  for (const int32_t choice : grammar_->choices(grammar_->root())) {
    expand(stack(choice, -1), first, seen);
  }
  start_ = state_ = state_of(std::move(first));
}

int32_t TokenMask::stack(int32_t element, int32_t below) {
  const auto [at, is_new] =
      known_stacks_.try_emplace({element, below}, static_cast<int32_t>(stacks_.size()));
  if (is_new) stacks_.push_back({element, below});
  return at->second;
}

void TokenMask::expand(int32_t first, State& state, std::set<int32_t>& seen) {
  std::vector<int32_t> rest = {first};
  while (!rest.empty() && ++steps_ <= most_steps_) {
    const int32_t one = rest.back();
    rest.pop_back();
    if (!seen.insert(one).second) continue;
    const auto [at, below] = stacks_[static_cast<size_t>(one)];
    const Grammar::Element& element = grammar_->element(at);
    switch (element.kind) {
      case Grammar::Element::Kind::kBytes:
        state.stacks.push_back(one);
        break;
      case Grammar::Element::Kind::kEnd:
        if (below < 0) {
          state.can_end = true;
        } else {
          rest.push_back(below);
        }
        break;
      case Grammar::Element::Kind::kRule: {
        // A rule at the end of its choice returns to where the choice would: a repetition does not
        // make the stack deeper.
        const bool is_last = grammar_->element(at + 1).kind == Grammar::Element::Kind::kEnd;
        const int32_t returns_to = is_last ? below : stack(at + 1, below);
        for (const int32_t choice : grammar_->choices(element.index)) {
          rest.push_back(stack(choice, returns_to));
        }
        break;
      }
    }
  }
}

int32_t TokenMask::state_of(State state) {
  if (state.stacks.empty() && !state.can_end) return kDead;
  std::ranges::sort(state.stacks);
  const auto [at, is_new] = known_states_.try_emplace(std::pair(state.stacks, state.can_end),
                                                      static_cast<int32_t>(states_.size()));
  if (is_new) {
    state.next.fill(kUnknown);
    states_.push_back(std::move(state));
  }
  return at->second;
}

int32_t TokenMask::next(int32_t from, uint8_t byte) {
  if (from == kDead) return kDead;
  const int32_t known = states_[static_cast<size_t>(from)].next[byte];
  if (known != kUnknown) return known;
  State reached;
  std::set<int32_t> seen;
  const std::vector<int32_t> stacks = states_[static_cast<size_t>(from)].stacks;
  for (const int32_t one : stacks) {
    const auto [at, below] = stacks_[static_cast<size_t>(one)];
    if (grammar_->bytes(grammar_->element(at).index)[byte]) {
      expand(stack(at + 1, below), reached, seen);
    }
  }
  const int32_t to = state_of(std::move(reached));
  states_[static_cast<size_t>(from)].next[byte] = to;
  return to;
}

const std::vector<bool>& TokenMask::mask(int32_t of) {
  if (!states_[static_cast<size_t>(of)].has_mask) {
    std::vector<bool> allowed(static_cast<size_t>(tokens_.size()));
    std::vector<std::pair<int32_t, int32_t>> rest = {{0, of}};  // a node of the trie and its state
    while (!rest.empty()) {
      const auto [node, state] = rest.back();
      rest.pop_back();
      const TokenTexts::Node& here = tokens_.trie()[static_cast<size_t>(node)];
      for (const int32_t token : here.tokens) allowed[static_cast<size_t>(token)] = true;
      for (const auto& [byte, below] : here.next) {
        const int32_t reached = next(state, byte);
        if (reached != kDead) rest.emplace_back(below, reached);
      }
    }
    State& state = states_[static_cast<size_t>(of)];
    state.mask = std::move(allowed);
    state.has_mask = true;
  }
  return states_[static_cast<size_t>(of)].mask;
}

void TokenMask::apply(std::span<float> logits) {
  constexpr float kExcluded = -std::numeric_limits<float>::infinity();
  const std::vector<bool>* allowed = state_ == kDead ? nullptr : &mask(state_);
  if (steps_ > most_steps_) {
    std::ranges::fill(logits, kExcluded);
    return;
  }
  const bool can_end = state_ == kDead || states_[static_cast<size_t>(state_)].can_end;
  for (size_t token = 0; token < logits.size(); ++token) {
    if (allowed && token < allowed->size() && (*allowed)[token]) continue;
    const bool is_end =
        can_end && std::ranges::find(end_tokens_, static_cast<int32_t>(token)) != end_tokens_.end();
    if (!is_end) logits[token] = kExcluded;
  }
}

bool TokenMask::accept(int32_t token) {
  if (token >= 0 && token < tokens_.size()) {
    for (const char byte : tokens_.text(token)) state_ = next(state_, static_cast<uint8_t>(byte));
  }
  if (steps_ > most_steps_) return true;
  return state_ != kDead && !states_[static_cast<size_t>(state_)].stacks.empty();
}

bool TokenMask::matches(std::string_view text) {
  int32_t state = start_;
  for (const char byte : text) state = next(state, static_cast<uint8_t>(byte));
  return state != kDead && states_[static_cast<size_t>(state)].can_end;
}

}  // namespace tapml::llm
