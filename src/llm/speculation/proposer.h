// Proposes the tokens that may follow a text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "llm/sampler.h"

namespace tapml::llm {

struct Proposal {
  std::vector<int32_t> tokens;
  // Of tokens that were drawn at random, what each was drawn from; otherwise empty.
  std::vector<Candidates> drawn_from;
};

class Proposer {
 public:
  virtual ~Proposer() = default;
  // Begins with a text, whose tokens are chosen with these options.
  virtual Status begin(std::span<const int32_t> text, const SamplerOptions& sampler) = 0;
  // Whether the proposed tokens are drawn at random, so that the text depends on what is proposed.
  virtual bool draws() const { return false; }
  // At most `count` tokens, 1 or more, that may follow the text, which has at least one token. How
  // many there are must not depend on what was drawn, nor on the time that anything took.
  virtual Result<Proposal> propose(std::span<const int32_t> text, int64_t count) = 0;
};

}  // namespace tapml::llm
