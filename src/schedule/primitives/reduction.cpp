#include "schedule/primitives/reduction.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

std::set<const tapml::ExprNode*> loops_of(const BlockNode& block, IterType type) {
  std::set<const tapml::ExprNode*> result;
  for (const BlockIter& iter : block.iters) {
    if (iter.type != type) continue;
    for (const Var& var : free_vars(iter.binding)) result.insert(var.get());
  }
  return result;
}

std::vector<PrimExpr> conjuncts(const PrimExpr& condition) {
  if (!condition) return {};
  if (condition.kind() != tapml::ExprKind::kAnd) return {condition};
  std::vector<PrimExpr> result = conjuncts(condition.operand(0));
  for (PrimExpr& part : conjuncts(condition.operand(1))) result.push_back(std::move(part));
  return result;
}

}  // namespace tapml::schedule::primitives
