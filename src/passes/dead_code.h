#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Removes pure bindings in dataflow blocks whose variables nobody uses, and kernels (with their
// implementations) that nobody calls.
Module eliminate_dead_code(const Module& module);

}  // namespace tapml::passes
