// Inputs of the model's `sample` function; choosing the token is the model's.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "tensor/host_tensor.h"

namespace tapml::llm {

struct SamplerOptions {
  double temperature = 0;  // 0: the likeliest token
  double top_p = 1;        // in (0, 1]
  uint64_t seed = 0;
};

// UserError for values that are out of range, and for a temperature above 0, which `sample` does
// not look at.
Status check_sampler_options(const SamplerOptions& options);

// f32[batch, 2]: temperature and top-p of each sequence.
HostTensor sampler_parameters(const SamplerOptions& options, int64_t batch);

// i64[2]: key and counter of the counter-based generator (base/rng.h), at its start.
HostTensor sampler_state(const SamplerOptions& options);

}  // namespace tapml::llm
