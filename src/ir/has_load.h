// Whether a scalar expression reads memory.
#pragma once

#include "ir/expr.h"

namespace tapml {

inline bool has_load(const PrimExpr& expr) {
  bool found = false;
  visit_expr(expr, [&](const PrimExpr& e) { found |= e.kind() == ExprKind::kLoad; });
  return found;
}

}  // namespace tapml
