// Weight-only computation runs once, at load.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Bindings of operators that depend on weights and constants alone move into an exported function
// `prepare(weights...) -> tuple`; equal ones of several functions are computed once. Every function
// with weights takes the tuple's fields behind its parameters (module attribute "model.prepared"
// names them) and uses them in place of what it computed.
//
// A value moves where it is no larger than the weights that it is made of: transposes, splits,
// sums, casts to narrower types. What would grow (a cast to a wider type, a broadcast,
// dequantization) stays where it is, for it would cost memory for as long as the model is there and
// be read from memory at every use. So do views, which cost nothing, and small weights' large
// results.
//
// Modules that name no weights or have a function `prepare` of their own stay as they are.
Module lift_preparation(const Module& module);

}  // namespace tapml::passes
