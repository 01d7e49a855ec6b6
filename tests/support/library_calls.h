// Functions in two forms: as operators, which the reference supports, and as calls of the example
// library's routines (examples/library), which only the cpu has.
#pragma once

#include "ir/module.h"

namespace tapml::testing {

// @library_scale(x) and @library_swiglu(gate, up), on f32 tensors with two dimensions, as
// operators.
const Module& library_functions();

// `module` with routine calls in place of those of these functions that it has.
Module with_library_calls(const Module& module);

}  // namespace tapml::testing
