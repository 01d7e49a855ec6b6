// Functions that are there twice: of operators, which the reference understands, and as calls of
// the example library's routines (examples/library), which only the cpu has.
#pragma once

#include "ir/module.h"

namespace tapml::testing {

// @library_scale(x) and @library_swiglu(gate, up), of f32 tensors with two dimensions, by
// operators.
const Module& library_functions();

// `module` with calls of the routines in the place of those of these functions that it has.
Module with_library_calls(const Module& module);

}  // namespace tapml::testing
