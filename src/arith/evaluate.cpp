#include "arith/evaluate.h"

#include <algorithm>

#include "arith/interval.h"

namespace tapml::arith {

namespace {

using Value = std::optional<int64_t>;

// Converts to the type: unsigned types narrower than 64 bits wrap, others must hold the value.
Value into(DType dtype, __int128 value) {
  Range range = dtype_range(dtype);
  if (dtype == DType::kU8 || dtype == DType::kU16 || dtype == DType::kU32) {
    return static_cast<int64_t>(value) & range.hi;
  }
  if (value < range.lo || value > range.hi) return std::nullopt;
  return static_cast<int64_t>(value);
}

Value binary(ExprKind kind, DType dtype, int64_t a, int64_t b) {
  __int128 x = a, y = b;
  switch (kind) {
    case ExprKind::kAdd:
      return into(dtype, x + y);
    case ExprKind::kSub:
      return into(dtype, x - y);
    case ExprKind::kMul:
      return into(dtype, x * y);
    case ExprKind::kFloorDiv:
      if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
      return into(dtype, floor_div(a, b));
    case ExprKind::kFloorMod:
      if (b == 0) return std::nullopt;
      return b == -1 ? 0 : floor_mod(a, b);
    case ExprKind::kMin:
      return std::min(a, b);
    case ExprKind::kMax:
      return std::max(a, b);
    case ExprKind::kEq:
      return a == b;
    case ExprKind::kNe:
      return a != b;
    case ExprKind::kLt:
      return a < b;
    case ExprKind::kLe:
      return a <= b;
    default:
      return std::nullopt;
  }
}

Value call(const PrimExpr& e, const Values& values) {
  if (e->operands.size() != 2 || !is_integer(e.dtype())) return std::nullopt;
  Value a = evaluate(e.operand(0), values);
  Value b = evaluate(e.operand(1), values);
  if (!a || !b) return std::nullopt;
  if (e->name == "bit_and") return *a & *b;
  if (e->name == "bit_or") return *a | *b;
  if (e->name == "bit_xor") return *a ^ *b;
  if (*b < 0 || *b >= dtype_bits(e.dtype())) return std::nullopt;
  if (e->name == "shift_left") {
    return into(e.dtype(), static_cast<__int128>(*a) * (static_cast<__int128>(1) << *b));
  }
  if (e->name == "shift_right") return *a >> *b;
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> evaluate(const PrimExpr& e, const Values& values) {
  if (is_float(e.dtype())) return std::nullopt;
  switch (e.kind()) {
    case ExprKind::kInt:
      return e->int_value;
    case ExprKind::kVar: {
      auto it = values.find(e.get());
      return it == values.end() ? Value() : it->second;
    }
    case ExprKind::kAnd:
    case ExprKind::kOr: {
      Value a = evaluate(e.operand(0), values);
      if (!a || (*a != 0) == (e.kind() == ExprKind::kOr)) return a;
      return evaluate(e.operand(1), values);
    }
    case ExprKind::kNot: {
      Value a = evaluate(e.operand(0), values);
      return a ? Value(*a == 0) : a;
    }
    case ExprKind::kSelect: {
      Value chosen = evaluate(e.operand(0), values);
      if (!chosen) return chosen;
      return evaluate(e.operand(*chosen != 0 ? 1 : 2), values);
    }
    case ExprKind::kCast: {
      Value a = evaluate(e.operand(0), values);
      if (!a) return a;
      return e.dtype() == DType::kBool ? Value(*a != 0) : into(e.dtype(), *a);
    }
    case ExprKind::kCall:
      return call(e, values);
    case ExprKind::kLet: {
      Value value = evaluate(e.operand(1), values);
      if (!value) return value;
      Values inner = values;
      inner[e.operand(0).get()] = *value;
      return evaluate(e.operand(2), inner);
    }
    default: {
      if (!is_binary(e.kind())) return std::nullopt;
      Value a = evaluate(e.operand(0), values);
      Value b = evaluate(e.operand(1), values);
      if (!a || !b) return std::nullopt;
      return binary(e.kind(), e.dtype(), *a, *b);
    }
  }
}

}  // namespace tapml::arith
