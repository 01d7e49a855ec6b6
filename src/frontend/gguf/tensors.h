// The tensors of a GGUF file under their published names and in their published order.
#pragma once

#include <string>

#include "frontend/gguf/architectures.h"
#include "frontend/huggingface/weights.h"

namespace tapml::frontend {

// Tensors of f32, f16 and bf16 are views of the file unless the converter changed them; others stay
// blocks until they are loaded, except vectors and transposed ones, which become f32. A tensor that
// the architecture has no name for keeps its own. UserError for a tensor that cannot be changed
// back.
WeightFiles gguf_weights(const GgufArchitecture& architecture, const GgufFields& fields);

}  // namespace tapml::frontend
