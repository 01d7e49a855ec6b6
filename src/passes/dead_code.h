#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Removes unused bindings, inside branches and lambdas too: any binding in dataflow blocks; outside
// of them only those that construct a value (tuples, constants, lambdas), since calls may have
// effects. Then removes functions with the attribute "private" and kernels (with their
// implementations) that no other function reaches.
Module eliminate_dead_code(const Module& module);

}  // namespace tapml::passes
