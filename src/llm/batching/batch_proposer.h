// Proposes the tokens that may follow each text of a batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "llm/batching/logit_rules.h"
#include "llm/sampler.h"

namespace tapml::llm {

// A text whose last token the model has not read, and how its tokens are chosen.
struct TextToPropose {
  uint64_t id = 0;
  std::span<const int32_t> tokens;
  int64_t prompt = 0;  // of these, the first that were not generated
  int64_t count = 0;   // most tokens to propose; may be 0
  const SamplerOptions* sampler = nullptr;
  const LogitRules* rules = nullptr;
  const HostTensor* generator = nullptr;  // that draws its next token
  std::vector<int32_t> proposed;          // the result: none is allowed
};

// The texts do not depend on what is proposed: a proposed token is accepted if it is the one that
// the model chooses.
class BatchProposer {
 public:
  virtual ~BatchProposer() = default;
  // An error is one of a device.
  virtual Status propose(std::span<TextToPropose> texts) = 0;
  // Gives back what it keeps of a text, if it knows it. The text may come again.
  virtual void forget(uint64_t /*id*/) {}
  virtual int64_t pages() const { return 0; }       // of a cache of its own, most at once
  virtual int64_t used_pages() const { return 0; }  // of these, by texts
};

}  // namespace tapml::llm
