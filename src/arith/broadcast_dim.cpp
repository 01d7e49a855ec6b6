#include "arith/broadcast_dim.h"

#include "arith/analyzer.h"

namespace tapml::arith {

namespace {

// 0 where `dim` is 1, else 1.
PrimExpr is_more(const PrimExpr& dim) { return min(max(dim - 1, 1 - dim), 1); }

// The dimension of is_more(dim); null for any other expression.
PrimExpr asked_dim(const PrimExpr& expr) {
  if (expr->kind != ExprKind::kMin || expr.operand(0)->kind != ExprKind::kMax) return {};
  const PrimExpr& less = expr.operand(0).operand(0);
  if (less->kind != ExprKind::kSub) return {};
  const PrimExpr& dim = less.operand(0);
  return same_expr(expr, is_more(dim)) ? dim : PrimExpr();
}

}  // namespace

PrimExpr broadcast_dim(const PrimExpr& dim, const PrimExpr& extent) {
  return is_more(dim) * (extent - 1) + 1;
}

std::string dim_text(const PrimExpr& expr) {
  if (expr->kind == ExprKind::kAdd && expr.operand(1).is_int(1) &&
      expr.operand(0)->kind == ExprKind::kMul && asked_dim(expr.operand(0).operand(0))) {
    return "1 or " + to_string(Analyzer().simplify(expr.operand(0).operand(1) + 1));
  }
  return to_string(expr);
}

}  // namespace tapml::arith
