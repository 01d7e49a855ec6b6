// Logits for tests of the kernels that choose a token.
#pragma once

#include "tensor/host_tensor.h"

namespace tapml::llm {

// f32[8, vocabulary], rows in which a wrong choice is likely: all negative with the largest logit
// first; the largest last; equal ones on both sides of a tile's border; differences that bf16 does
// not have; all equal; both zeros; -infinity but for one; the largest two apart by one unit.
HostTensor made_logits(int64_t vocabulary);

}  // namespace tapml::llm
