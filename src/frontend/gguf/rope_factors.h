// The rotations that a GGUF file stores as factors of frequencies, in published fields.
#pragma once

#include "frontend/gguf/fields.h"
#include "io/json.h"

namespace tapml::frontend {

// Adds Llama 3's "rope_scaling" that gives the factors of the tensor rope_freqs.weight, if the file
// has it. UserError for factors that this rule does not give.
void add_llama3_scaling(const GgufFields& fields, Json& config);

// Adds the "rope_scaling" longrope of the tensors rope_factors_short.weight and
// rope_factors_long.weight, if the file has them.
void add_longrope_scaling(const GgufFields& fields, Json& config);

}  // namespace tapml::frontend
