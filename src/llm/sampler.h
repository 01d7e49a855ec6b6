// Chooses the next token from a row of logits.
//
// The model's own `sample` function takes the most likely token (temperature 0), and its `draw`
// draws at random. If the platform has no f64, or is remote, this file does it with the same bits:
// in f64, with correctly rounded operations only, so that equal logits and an equal generator give
// the same token on every platform:
//
//   1. Tokens are ordered by falling logit, equal logits by rising index (-0 equals 0).
//   2. top-k > 0 keeps the first k of them.
//   3. Token i of this order weighs exp((logit_i - logit_0) / temperature), by exp_nonpositive.
//   4. top-p keeps the shortest beginning whose weights sum up to at least top-p times the sum of
//      all that are left. Sums run in the order of 1, one addition a token.
//   5. With S the sum of what is kept and u uniform in [0, 1), the token is the first one whose
//      running sum exceeds u * S.
//
// Draw d takes u = unit() at position 2 d of the Philox stream "sample" of the seed (base/rng.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "tensor/host_tensor.h"

namespace tapml::llm {

struct SamplerOptions {
  double temperature = 0;  // 0: the most likely token, whatever the other options are
  double top_p = 1;        // in (0, 1]; 1 keeps all
  int64_t top_k = 0;       // 0 keeps all
  uint64_t seed = 0;
};

// UserError for values out of range: the temperature is 0 to 1e6, top-p is above 0 and at most 1,
// and top-k is at least 0.
Status check_sampler_options(const SamplerOptions& options);

// f32[batch, 2]: temperature and top-p of each sequence.
HostTensor sampler_parameters(const SamplerOptions& options, int64_t batch);

// f64[batch, 3], for the model's `draw`: temperature, top-p and top-k of each sequence.
HostTensor draw_parameters(const SamplerOptions& options, int64_t batch);

// i64[2]: key and counter (draws made) of the counter-based generator, at its start.
HostTensor sampler_state(const SamplerOptions& options);

// exp(x) for x <= 0 within 1 ULP, the same bits on every platform; 0 below -700.
double exp_nonpositive(double x);

// UserError for logits of one sequence without a token to take: none, NaN, +infinity, or only
// -infinity.
Status check_logits(std::span<const float> logits);

// The tokens that steps 1 to 4 keep, in their order, with the running sums of their weights.
struct Candidates {
  std::vector<int32_t> tokens;
  std::vector<double> sums;

  double total() const { return sums.back(); }
  // The token of step 5 for a number u in [0, 1).
  int32_t take(double u) const;
};

// For the f32 logits of one sequence and a temperature above 0. UserError as of sample_token().
Result<Candidates> candidates_of(std::span<const float> logits, const SamplerOptions& options);

// u of the next draw of a generator, whose counter goes up.
double draw_unit(HostTensor& state);

// The token of step 5, or the lowest index of the largest logit at temperature 0, for the f32
// logits of one sequence. `state` is that of sampler_state; a draw increments its counter.
// -infinity marks a token that is never drawn. UserError for options out of range, no logits, NaN,
// +infinity, and only -infinity.
Result<int32_t> sample_token(std::span<const float> logits, const SamplerOptions& options,
                             HostTensor& state);

}  // namespace tapml::llm
