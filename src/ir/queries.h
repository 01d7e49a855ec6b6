// Questions about scalar expressions.
#pragma once

#include <algorithm>

#include "ir/expr.h"

namespace tapml {

// Whether `accepts` is true for the expression or a node below it. Indices of loads count; buffers
// do not.
template <class Accepts>
bool any_node(const PrimExpr& expr, const Accepts& accepts) {
  return accepts(expr) || std::ranges::any_of(expr->operands, [&](const PrimExpr& operand) {
           return any_node(operand, accepts);
         });
}

inline bool uses(const PrimExpr& expr, const Var& var) {
  return any_node(expr, [&](const PrimExpr& e) { return e.same_as(var); });
}

inline bool uses(const std::vector<PrimExpr>& exprs, const Var& var) {
  return std::ranges::any_of(exprs, [&](const PrimExpr& expr) { return uses(expr, var); });
}

// Whether the expression uses a variable of `vars`, which is a set or a map keyed by variable.
template <class Vars>
bool uses_any(const PrimExpr& expr, const Vars& vars) {
  return any_node(expr, [&](const PrimExpr& e) { return vars.contains(e.get()); });
}

// Whether the expression reads memory.
inline bool has_load(const PrimExpr& expr) {
  return any_node(expr, [](const PrimExpr& e) { return e.kind() == ExprKind::kLoad; });
}

}  // namespace tapml
