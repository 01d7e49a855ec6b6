// The next token of each text of a batch, whose texts have different options. Internal to the
// component.
#pragma once

#include <span>

#include "llm/batching/continuous_batch.h"
#include "llm/engine_state.h"

namespace tapml::llm {

// A row of the logits, and what chooses its token.
struct RowToChoose {
  const SamplerOptions* sampler = nullptr;
  const LogitRules* rules = nullptr;
  const std::function<void(std::span<float>)>* constrain = nullptr;
  std::span<const int32_t> tokens;  // of the text
  int64_t prompt = 0;               // of these, the first that were not generated
  int64_t top_probabilities = -1;   // -1: none
  HostTensor* generator = nullptr;  // advanced by a draw
  Result<ChosenToken> chosen;       // UserError for logits without a token to take
};

// Chooses by the model's functions on the device where no row needs its logits on the host; the
// tokens are the same either way. An error is one of the device.
Status choose_tokens(Engine::State& state, const runtime::Tensor& logits,
                     std::span<RowToChoose> rows);

}  // namespace tapml::llm
