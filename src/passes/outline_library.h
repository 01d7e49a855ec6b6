// Direct calls of library routines: call_dps_library(extern "name", (tensors...), outputs...).
#pragma once

#include "relax/expr.h"

namespace tapml::passes {

bool calls_library(const relax::CallNode& call);

// Adds a kernel to `module` that consists of this call, and returns the call_tir that replaces it.
// Such a kernel has no specification beyond the routine's name, and no loops: a library must
// provide the routine. UserError where a tensor's shape or dtype is unknown.
relax::Expr outline_library(Module& module, const relax::CallNode& call);

}  // namespace tapml::passes
