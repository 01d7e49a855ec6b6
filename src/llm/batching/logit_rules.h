// Changes to the logits before a token is chosen, and what is reported of a choice.
//
// They are made on the host, in f64 with correctly rounded operations and exp_nonpositive()
// (llm/sampler.h), so that equal logits give equal tokens on every platform. In this order:
//
//   1. The logit of each token that the text has, prompt included, is divided by the repetition
//      penalty if it is positive, and otherwise multiplied by it (Keskar et al. 2019).
//   2. From the logit of each token that was generated n times: n times the frequency penalty, and
//      the presence penalty.
//   3. The bias of a token is added to its logit.
//   4. A token leaves if its probability at the temperature is below min-p times the largest one
//      (only at a temperature above 0).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "llm/sampler.h"

namespace tapml::llm {

struct LogitRules {
  double repetition_penalty = 1;   // above 0, at most 100; 1: none
  double frequency_penalty = 0;    // -100 to 100
  double presence_penalty = 0;     // the same
  double min_p = 0;                // 0 to 1; 0 keeps all
  std::map<int32_t, double> bias;  // by token; -infinity excludes it, otherwise -1000 to 1000

  bool is_empty() const;
};

// UserError for values out of range, and for tokens outside of the vocabulary.
Status check_logit_rules(const LogitRules& rules, int64_t vocabulary);

// `tokens` are all of the text, of which the first `prompt` were not generated.
void apply_logit_rules(const LogitRules& rules, const SamplerOptions& sampler,
                       std::span<const int32_t> tokens, int64_t prompt, std::span<float> logits);

// The natural logarithm of a token's probability under the logits as the model made them, at
// temperature 1; and the most likely tokens with theirs.
struct TokenProbabilities {
  double chosen = 0;
  std::vector<std::pair<int32_t, double>> top;  // falling; equal ones by rising token
};
TokenProbabilities log_probabilities(std::span<const float> logits, int32_t chosen, int64_t top);

}  // namespace tapml::llm
