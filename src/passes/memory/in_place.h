// Which outputs of a kernel may be computed over one of its inputs.
#pragma once

#include "tir/prim_func.h"

namespace tapml::passes {

// Whether output parameter `output` may lie exactly where input parameter `input` lies, whatever
// order the implementation computes elements in: both have the same shape and dtype (of 4 bytes or
// more), the program reduces nothing, every element of the input, and of what is computed from it,
// is read for the output's element of the same index alone, and nothing reads it after the output
// is written.
bool may_compute_in_place(const tir::PrimFunc& func, size_t input, size_t output);

}  // namespace tapml::passes
