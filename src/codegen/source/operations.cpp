#include "codegen/source/operations.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/exceptions.h"

namespace tapml::codegen {

namespace {

bool is_power_of_two(const PrimExpr& e) {
  return e.is_int() && e->int_value > 0 && std::has_single_bit(static_cast<uint64_t>(e->int_value));
}

bool is_narrow_float(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// Float variables hold loaded values or values computed from them.
bool holds_loaded(const PrimExpr& e) {
  return e.kind() == ExprKind::kLoad || (e.is_var() && is_float(e.dtype())) ||
         std::ranges::any_of(e->operands, holds_loaded);
}

}  // namespace

bool may_be_seen_zero(const PrimExpr& arithmetic, size_t i) {
  const PrimExpr& operand = arithmetic.operand(i);
  if (!is_float(operand.dtype())) return false;
  if (operand.kind() == ExprKind::kFloat) return operand->float_value == 0;
  switch (arithmetic.kind()) {
    case ExprKind::kDiv:
      return true;
    case ExprKind::kAdd:
    case ExprKind::kSub:
    case ExprKind::kMul:
    case ExprKind::kCall:  // fma
      return !holds_loaded(operand);
    default:
      return false;
  }
}

std::optional<F16Operation> f16_operation(const PrimExpr& e) {
  const char* const op = e.kind() == ExprKind::kAdd   ? "+"
                         : e.kind() == ExprKind::kSub ? "-"
                         : e.kind() == ExprKind::kMul ? "*"
                                                      : nullptr;
  if (!op || e.dtype() != DType::kF32) return std::nullopt;
  for (const PrimExpr& operand : e->operands) {
    if (operand.kind() != ExprKind::kCast) return std::nullopt;
    if (operand.operand(0).dtype() != DType::kF16) return std::nullopt;
  }
  return F16Operation{e.operand(0).operand(0), op, e.operand(1).operand(0)};
}

std::string Operations::rounded(const std::string& text, DType dtype) const {
  return is_narrow_float(dtype) ? dialect_.round_narrow(text, dtype) : text;
}

std::string Operations::binary(const PrimExpr& e, const std::string& a, const std::string& b,
                               bool index, bool plain) const {
  DType dtype = e.operand(0).dtype();
  auto infix = [&](const char* op) {
    return is_narrow_float(e.dtype()) ? dialect_.narrow_infix(a, op, b, dtype)
                                      : dialect_.infix(a, op, b, dtype);
  };
  auto arithmetic = [&](const char* op) {
    const bool exact = !is_integer(dtype) || index;
    return exact ? infix(op) : dialect_.wrapping(a, op, b, dtype);
  };
  // Not every language orders booleans.
  if (dtype == DType::kBool) {
    if (e.kind() == ExprKind::kLt) return "(!" + a + " && " + b + ")";
    if (e.kind() == ExprKind::kLe) return "(!" + a + " || " + b + ")";
    if (e.kind() == ExprKind::kMin) return "(" + a + " && " + b + ")";
    if (e.kind() == ExprKind::kMax) return "(" + a + " || " + b + ")";
  }
  switch (e.kind()) {
    case ExprKind::kAdd:
      return arithmetic("+");
    case ExprKind::kSub:
      return arithmetic("-");
    case ExprKind::kMul:
      return arithmetic("*");
    case ExprKind::kDiv:
      return infix("/");
    case ExprKind::kEq:
      return infix("==");
    case ExprKind::kNe:
      return infix("!=");
    case ExprKind::kLt:
      return infix("<");
    case ExprKind::kLe:
      return infix("<=");
    case ExprKind::kAnd:
      return infix("&&");
    case ExprKind::kOr:
      return infix("||");
    case ExprKind::kMin:
    case ExprKind::kMax:
      return extremum(e.kind(), a, b, dtype);
    case ExprKind::kFloorDiv:
      if (plain && (readable_ || !is_power_of_two(e.operand(1)))) return infix("/");
      return division(e, a, b, {true, true}, index);
    case ExprKind::kFloorMod:
      if (plain && readable_) return infix("%");
      if (plain && (readable_ || !is_power_of_two(e.operand(1))))
        return dialect_.remainder(a, b, dtype);
      return division(e, a, b, {false, true}, index);
    default:
      throw_internal("unexpected expression", e->name);
  }
}

std::string Operations::extremum(ExprKind kind, const std::string& a, const std::string& b,
                                 DType dtype) const {
  const std::string x = temporary_(a, dtype), y = temporary_(b, dtype);
  std::string takes = dialect_.compare(y, kind == ExprKind::kMin ? "<" : ">", x, dtype);
  if (is_float(dtype)) takes += " || " + dialect_.is_nan(y);  // NaN wins
  return dialect_.conditional(takes, y, x);
}

// Replaces the divisor by 1 where the language's division is undefined: for 0, and for -1 if the
// dividend may be the minimum integer. The remainder is then 0, and the quotient is corrected.
// Other constant divisors need none of this.
std::string Operations::division(const PrimExpr& e, const std::string& a, const std::string& b,
                                 Division kind, bool index) const {
  const auto [quotient, floor] = kind;
  DType dtype = e.dtype();
  bool is_signed = is_signed_integer(dtype);
  const PrimExpr& divisor = e.operand(1);
  if (floor && is_power_of_two(divisor)) {
    if (!quotient) {
      return dialect_.infix(a, "&", dialect_.int_literal(divisor->int_value - 1, dtype), dtype);
    }
    const int bits = std::countr_zero(static_cast<uint64_t>(divisor->int_value));
    return dialect_.shift(a, dialect_.int_literal(bits, dtype), dtype, false);
  }
  bool may_be_zero = !divisor.is_int() || divisor.is_int(0);
  bool may_overflow = is_signed && (divisor.is_int() ? divisor.is_int(-1) : !index);
  std::string zero = dialect_.int_literal(0, dtype), one = dialect_.int_literal(1, dtype);
  std::string minus_one = is_signed ? dialect_.int_literal(-1, dtype) : "";
  std::string x = temporary_(a, dtype), y = temporary_(b, dtype), d = y;
  auto equals = [&](const std::string& value) { return dialect_.compare(y, "==", value, dtype); };
  std::string guard = may_be_zero ? equals(zero) : "";
  if (may_overflow) guard += (guard.empty() ? "" : " || ") + equals(minus_one);
  if (!guard.empty()) d = temporary_(dialect_.conditional(guard, one, y), dtype);
  std::string result;
  if (!quotient || (is_signed && floor)) result = dialect_.remainder(x, d, dtype);
  if (is_signed && floor) {
    std::string r = temporary_(result, dtype);
    const std::string off = "(" + dialect_.compare(r, "!=", zero, dtype) + " && (" +
                            dialect_.infix(r, "<", zero, dtype) +
                            " != " + dialect_.infix(d, "<", zero, dtype) + "))";
    result = quotient ? dialect_.infix(dialect_.infix(x, "/", d, dtype), "-",
                                       dialect_.conditional(off, one, zero), dtype)
                      : dialect_.infix(r, "+", dialect_.conditional(off, d, zero), dtype);
  } else if (quotient) {
    result = dialect_.infix(x, "/", d, dtype);
  }
  if (!quotient) return result;
  if (may_overflow) {
    result =
        dialect_.conditional(equals(minus_one), dialect_.wrapping(zero, "-", x, dtype), result);
  }
  return may_be_zero ? dialect_.conditional(equals(zero), zero, result) : result;
}

std::string Operations::shift(const PrimExpr& e, const std::string& a, const std::string& b) const {
  DType dtype = e.dtype();
  bool left = e->name == "shift_left";
  const PrimExpr& amount = e.operand(1);
  if (amount.is_int() && amount->int_value >= 0 && amount->int_value < dtype_bits(dtype)) {
    return dialect_.shift(a, b, dtype, left);
  }
  std::string x = temporary_(a, dtype), n = temporary_(b, dtype);
  std::string beyond = dialect_.int_literal(0, dtype);
  if (!left && is_signed_integer(dtype)) {
    beyond = dialect_.shift(x, dialect_.int_literal(dtype_bits(dtype) - 1, dtype), dtype, false);
  }
  return dialect_.conditional(dialect_.shift_fits(n, dtype), dialect_.shift(x, n, dtype, left),
                              beyond);
}

std::string Operations::bits(const PrimExpr& e, const std::vector<std::string>& args) const {
  bool is_bool = e.dtype() == DType::kBool;
  if (e->name == "bit_not") {
    return is_bool ? "(!" + args[0] + ")" : dialect_.wrapped("(~" + args[0] + ")", e.dtype());
  }
  const char* op = e->name == "bit_and" ? "&" : e->name == "bit_or" ? "|" : "^";
  if (is_bool) op = e->name == "bit_and" ? "&&" : e->name == "bit_or" ? "||" : "!=";
  return dialect_.infix(args[0], op, args[1], e.dtype());
}

std::string Operations::sign(const std::string& text, DType dtype) const {
  std::string x = temporary_(text, dtype);
  auto literal = [&](int value) {
    return is_float(dtype) ? dialect_.float_literal(value, dtype)
                           : dialect_.int_literal(value, dtype);
  };
  std::string zero = literal(0), below = zero;
  if (is_float(dtype)) {
    below = dialect_.conditional(dialect_.compare(x, "==", zero, dtype), zero, x);
  }
  if (!is_unsigned_integer(dtype)) {
    below = dialect_.conditional(dialect_.compare(x, "<", zero, dtype), literal(-1), below);
  }
  return dialect_.conditional(dialect_.compare(x, ">", zero, dtype), literal(1), below);
}

std::string Operations::call(const PrimExpr& e, const std::vector<std::string>& args,
                             bool index) const {
  const std::string& name = e->name;
  DType from = e.operand(0).dtype();
  if (name.starts_with("shift_")) return shift(e, args[0], args[1]);
  if (name.starts_with("bit_")) return bits(e, args);
  if (name == "trunc_div") return division(e, args[0], args[1], {true, false}, index);
  if (name == "trunc_mod") return division(e, args[0], args[1], {false, false}, index);
  if (name == "sign") return sign(args[0], from);
  if (name == "reinterpret") return dialect_.reinterpret(args[0], from, e.dtype());
  if (name == "isnan") {
    return "(" + dialect_.is_nan(temporary_(args[0], from)) + ")";
  }
  if (name == "isinf" || name == "isfinite") {
    std::string infinity = dialect_.float_literal(HUGE_VAL, from);
    return "(" + dialect_.intrinsic("abs", args, from) + (name == "isinf" ? " == " : " < ") +
           infinity + ")";
  }
  if (name == "abs" && is_unsigned_integer(from)) return args[0];
  return rounded(dialect_.intrinsic(name, args, e.dtype()), e.dtype());
}

}  // namespace tapml::codegen
