#include "arith/float_fold.h"

#include <cmath>

namespace tapml::arith {

bool representable(double value, DType dtype) {
  if (!std::isfinite(value)) return false;
  auto narrow = static_cast<float>(value);
  switch (dtype) {
    case DType::kF64:
      return true;
    case DType::kF32:
      return static_cast<double>(narrow) == value;
    case DType::kF16:
      return static_cast<double>(narrow) == value && f16_to_f32(f32_to_f16(narrow)) == narrow;
    case DType::kBF16:
      return static_cast<double>(narrow) == value && bf16_to_f32(f32_to_bf16(narrow)) == narrow;
    default:
      return false;
  }
}

namespace {

bool is_constant(const PrimExpr& e) { return e.kind() == ExprKind::kFloat; }

// Whether `e` is a constant of this value and sign.
bool is_value(const PrimExpr& e, double value) {
  return is_constant(e) && e->float_value == value &&
         std::signbit(e->float_value) == std::signbit(value);
}

// Whether a sum or product in double has no rounding error.
bool exact(ExprKind kind, double a, double b, double result) {
  if (kind == ExprKind::kMul) {
    // Tiny products lose the residual itself.
    return result == 0 ? (a == 0 || b == 0)
                       : std::fabs(result) > 1e-250 && std::fma(a, b, -result) == 0;
  }
  double other = kind == ExprKind::kSub ? -b : b;
  double virtual_b = result - a;
  double virtual_a = result - virtual_b;
  return (a - virtual_a) + (other - virtual_b) == 0;
}

}  // namespace

PrimExpr fold_float(const PrimExpr& e) {
  if (e.kind() == ExprKind::kCast) {
    const PrimExpr& operand = e.operand(0);
    double value = 0;
    if (operand.is_int() && operand.dtype() != DType::kU64 &&
        std::fabs(static_cast<double>(operand->int_value)) <= 9007199254740992.0) {
      value = static_cast<double>(operand->int_value);
    } else if (is_constant(operand)) {
      value = operand->float_value;
    } else {
      return e;
    }
    return representable(value, e.dtype()) ? make_float(value, e.dtype()) : e;
  }
  if (e->operands.size() != 2) return e;
  const PrimExpr& a = e.operand(0);
  const PrimExpr& b = e.operand(1);
  switch (e.kind()) {
    case ExprKind::kMul:
      if (is_value(a, 1)) return b;
      if (is_value(b, 1)) return a;
      break;
    case ExprKind::kDiv:
      return is_value(b, 1) ? a : e;
    case ExprKind::kSub:
      if (is_value(b, 0.0)) return a;
      break;
    case ExprKind::kAdd:
      if (is_value(a, -0.0)) return b;
      if (is_value(b, -0.0)) return a;
      break;
    default:
      return e;
  }
  if (!is_constant(a) || !is_constant(b)) return e;
  double x = a->float_value, y = b->float_value;
  double result = e.kind() == ExprKind::kMul ? x * y : e.kind() == ExprKind::kAdd ? x + y : x - y;
  if (!representable(result, e.dtype()) || !exact(e.kind(), x, y, result)) return e;
  return make_float(result, e.dtype());
}

}  // namespace tapml::arith
