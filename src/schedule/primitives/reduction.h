// Shared by the primitives on reductions.
#pragma once

#include "schedule/primitives/dependence.h"

namespace tapml::schedule::primitives {

// The loops that the bindings of a block's iterators of one kind use.
std::set<const ExprNode*> loops_of(const tir::BlockNode& block, tir::IterType type);
// The operands of a conjunction.
std::vector<PrimExpr> conjuncts(const PrimExpr& condition);

}  // namespace tapml::schedule::primitives
