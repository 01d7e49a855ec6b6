// Reductions without a step.
#pragma once

#include "tir/stmt.h"

namespace tapml::tir {

// A block's init runs before its first reduction step, even if a reduction loop has no iterations.
// Inserts a branch before each such loop (its variable is an iterator's binding, and only loops are
// between it and the block) that does not have a positive constant extent; the branch runs the init
// if the loop has no iterations. For code generators, whose blocks become statements inside their
// loops.
Stmt initialize_empty_reductions(const Stmt& stmt);

}  // namespace tapml::tir
