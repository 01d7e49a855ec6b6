// Reductions without a step.
#pragma once

#include "tir/stmt.h"

namespace tapml::tir {

// A block's init runs before its first reduction step, also where a reduction loop makes none.
// Where such a loop (its variable is an iterator's binding, only loops stand between it and the
// block) is not of constant extent above 0, a branch in front of it runs the init for the case that
// it makes no step. For code generators, whose blocks become statements inside their loops.
Stmt initialize_empty_reductions(const Stmt& stmt);

}  // namespace tapml::tir
