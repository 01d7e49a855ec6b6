// Moves weight-only computation to load time, where it runs once.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Bindings of operators that depend only on weights and constants move into an exported function
// `prepare(weights...) -> tuple`; equal ones of several functions are computed once. Every function
// with weights takes the tuple's fields after its parameters (module attribute "model.prepared"
// names them) and uses them instead of computing the values.
//
// A value moves if it is no larger than the weights it is computed from: transposes, splits, sums,
// casts to narrower types. A value that would be larger (a cast to a wider type, a broadcast,
// dequantization) stays: it would occupy memory for the model's lifetime and be read from memory at
// every use. Views stay too, since they cost nothing, as do large results of small weights.
//
// Modules without weights, or with a function `prepare` of their own, are not changed.
Module lift_preparation(const Module& module);

}  // namespace tapml::passes
