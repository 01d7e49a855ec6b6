// Functions whose work a routine library can do.
#pragma once

#include "ir/module.h"

namespace tapml::fuzz {

// @library_scale(x) and @library_swiglu(gate, up), on f32 tensors with two dimensions, as
// operators: what the routines of the example library (examples/library) compute.
const Module& library_functions();

}  // namespace tapml::fuzz
