// Checks proposed tokens by one call of `logits_all`. Internal to the component.
#pragma once

#include <vector>

#include "llm/continuation.h"
#include "llm/engine_state.h"
#include "llm/speculation/proposer.h"

namespace tapml::llm {

// One call over the last token of a text, which the model has not read, and the proposed ones. Row
// i of its logits chooses the token after the first i proposed ones, for as long as these are the
// chosen ones.
class Engine::Verification {
 public:
  Verification(Engine& engine, const GenerateOptions& options, LogitRows& kept, Continuation& text)
      : engine_(engine), state_(*engine.state_), options_(options), kept_(kept), text_(text) {}

  // Appends the chosen tokens to the text, and to `chosen`; the cache then holds all of them but
  // the last one. Returns whether the text goes on.
  Result<bool> run(int32_t last, const Proposal& proposal, std::vector<int32_t>& chosen);

 private:
  // The logits of each token, f32[n, v]; then `tokens_` or `rows_`.
  Status check(std::span<const int32_t> tokens);
  // Whether the model's own `sample` can choose.
  bool chooses_in_model() const;
  // The token that row `row` chooses; -1: it has none to take.
  Result<int32_t> choose(int64_t row, const Proposal& proposal);
  Error not_finite(int64_t row);

  Engine& engine_;
  State& state_;
  const GenerateOptions& options_;
  LogitRows& kept_;
  Continuation& text_;
  int64_t length_ = 0;      // tokens before the call
  runtime::Tensor logits_;  // of the call
  HostTensor rows_;         // the same, if the host chooses
  HostTensor tokens_;       // otherwise
};

}  // namespace tapml::llm
