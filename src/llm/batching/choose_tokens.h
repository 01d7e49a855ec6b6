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

// Chooses from the logits of several tokens of each text, one after another, because what a token
// of a text is chosen by can depend on the one before it.
class LaterRows {
 public:
  // `logits` [rows, vocabulary]. `on_host`: a row may draw, or needs_host(). An error is one of the
  // device.
  static Result<LaterRows> read(Engine::State& state, const runtime::Tensor& logits, bool on_host);

  // Sets `row.chosen` by row `at` of the logits.
  void choose(int64_t at, RowToChoose& row) const;

 private:
  size_t width_ = 0;
  HostTensor likely_;  // the most likely token of each row; empty: `values_` are there
  HostTensor values_;
};

// Whether the model's functions cannot choose its token.
bool needs_host(const RowToChoose& row);

}  // namespace tapml::llm
