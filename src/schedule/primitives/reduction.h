// What the primitives about reductions share.
#pragma once

#include "schedule/primitives/dependence.h"

namespace tapml::schedule::primitives {

// Loops that the bindings of a block's iterators of one kind use.
std::set<const ExprNode*> loops_of(const tir::BlockNode& block, tir::IterType type);
// The sides of a conjunction.
std::vector<PrimExpr> conjuncts(const PrimExpr& condition);

}  // namespace tapml::schedule::primitives
