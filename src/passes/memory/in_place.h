// Decides which outputs of a kernel may be computed over one of its inputs.
#pragma once

#include "tir/prim_func.h"

namespace tapml::passes {

// Whether output parameter `output` may occupy exactly the memory of input parameter `input`,
// whatever order the implementation computes elements in: both have the same shape and dtype (of 4
// bytes or more), the program reduces nothing, every element of the input, and every value computed
// from it, is read only for the output element of the same index, and nothing reads it after the
// output is written.
bool may_compute_in_place(const tir::PrimFunc& func, size_t input, size_t output);

}  // namespace tapml::passes
