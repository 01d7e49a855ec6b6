#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Removes what nobody uses, inside branches and lambdas too: bindings in dataflow blocks; elsewhere
// those that only make a value (tuples, constants, lambdas), since calls may have effects. Then
// functions with the attribute "private" and kernels (with their implementations) that no other
// function reaches.
Module eliminate_dead_code(const Module& module);

}  // namespace tapml::passes
