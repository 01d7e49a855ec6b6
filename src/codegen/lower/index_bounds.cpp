#include "codegen/lower/index_bounds.h"

namespace tapml::codegen {

namespace {

bool is_point(const IndexRange& range) {
  return range.lo.is_int() && range.hi.is_int(range.lo->int_value);
}

// The full range of an integer type of at most 32 bits (including u32), or of bool.
IndexRange type_range(DType dtype) {
  if (dtype == DType::kBool) return {0, 1};
  if (!is_integer(dtype) || dtype_bits(dtype) > 32) return {};
  int bits = dtype_bits(dtype);
  if (is_unsigned_integer(dtype)) return {0, (int64_t{1} << bits) - 1};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

bool is_program(const PrimExpr& e) {
  bool plain = true;
  visit_expr(e, [&](const PrimExpr& part) {
    plain &= part.is_int() || part.is_var() ||
             (is_binary(part.kind()) && !is_comparison(part.kind()) && part.dtype() == DType::kI64);
  });
  return plain;
}

}  // namespace

IndexBounds::IndexBounds(const std::vector<Var>& scalars,
                         const std::vector<std::optional<int64_t>>& least, int64_t most) {
  for (size_t i = 0; i < scalars.size(); ++i) {
    analyzer_.bind(scalars[i], least[i].value_or(-1 - most), most);
    bind(scalars[i], {scalars[i], scalars[i]});
  }
}

// Interval arithmetic with expressions over the scalars as bounds: a loop variable is replaced by
// its bounds, innermost first, as in symbolic range propagation (Blume and Eigenmann, 1995). The
// launcher evaluates the bounds if no proof settles a limit, so they only use operations that
// scalar programs support.
void IndexBounds::bind(const Var& var, const IndexRange& range) {
  if (!range.known()) return;
  if (lows_.contains(var.get())) ranges_.clear();
  lows_[var.get()] = range.lo;
  highs_[var.get()] = range.hi;
}

PrimExpr IndexBounds::simple(const PrimExpr& e) {
  PrimExpr result = analyzer_.simplify(e);
  return is_program(result) ? result : e;
}

void IndexBounds::reset(size_t mark) {
  if (learnt_.size() == mark) return;
  learnt_.resize(mark);
  ranges_.clear();
}

IndexRange IndexBounds::range(const PrimExpr& e) {
  if (auto found = ranges_.find(e.get()); found != ranges_.end()) return found->second.second;
  IndexRange result = computed(e);
  ranges_[e.get()] = {e, result};
  return result;
}

bool IndexBounds::known_to_host(const PrimExpr& e) const {
  if (!is_program(e)) return false;
  bool known = true;
  visit_expr(e, [&](const PrimExpr& part) {
    // Division by zero yields 0 in a kernel, but has no value here.
    bool divides = part.kind() == ExprKind::kFloorDiv || part.kind() == ExprKind::kFloorMod;
    known &= !divides || !part.operand(1).is_int(0);
    if (!part.is_var()) return;
    auto low = lows_.find(part.get());
    known &= low != lows_.end() && low->second.same_as(part);
  });
  return known;
}

IndexRange IndexBounds::computed(const PrimExpr& e) {
  IndexRange result = own(e);
  for (const Learnt& fact : learnt_) {
    if (!same_expr(fact.expr, e)) continue;
    if (!result.known()) {
      if (fact.lo && fact.hi) result = {fact.lo, fact.hi};
      continue;
    }
    if (fact.lo) result.lo = simple(max(result.lo, fact.lo));
    if (fact.hi) result.hi = simple(min(result.hi, fact.hi));
  }
  return result;
}

IndexRange IndexBounds::own(const PrimExpr& e) {
  if (e.is_int()) return {e->int_value, e->int_value};
  if (e.is_var()) {
    auto low = lows_.find(e.get());
    if (low == lows_.end()) return type_range(e.dtype());
    return {low->second, highs_.at(e.get())};
  }
  if (e.kind() == ExprKind::kLet) {
    bind(e.operand(0), range(e.operand(1)));
    return range(e.operand(2));
  }
  if (e.kind() == ExprKind::kCast) {
    DType from = e.operand(0).dtype();
    if (!is_integer(from) && from != DType::kBool) return type_range(e.dtype());
    if (e.dtype() == DType::kI64) {
      return from == DType::kU64 ? IndexRange() : range(e.operand(0));
    }
    // The smaller type preserves the value only if it fits.
    IndexRange type = type_range(e.dtype());
    if (!type.known()) return {};
    IndexRange value = range(e.operand(0));
    bool fits = value.known() && analyzer_.prove_less_equal(type.lo, value.lo) &&
                analyzer_.prove_less_equal(value.hi, type.hi);
    return fits ? value : type;
  }
  if (e.dtype() != DType::kI64) return type_range(e.dtype());
  if (e.kind() == ExprKind::kSelect) {
    size_t before = mark();
    learn(e.operand(0), true);
    IndexRange a = range(e.operand(1));
    reset(before);
    learn(e.operand(0), false);
    IndexRange b = range(e.operand(2));
    reset(before);
    if (!a.known() || !b.known()) return {};
    return {simple(min(a.lo, b.lo)), simple(max(a.hi, b.hi))};
  }
  if (!is_binary(e.kind())) return {};
  if (known_to_host(e)) {
    PrimExpr value = simple(e);
    return {value, value};
  }
  IndexRange a = range(e.operand(0)), b = range(e.operand(1));
  if (!a.known() || !b.known()) return {};
  switch (e.kind()) {
    case ExprKind::kAdd:
      return {simple(a.lo + b.lo), simple(a.hi + b.hi)};
    case ExprKind::kSub:
      return {simple(a.lo - b.hi), simple(a.hi - b.lo)};
    case ExprKind::kMul:
      return product(a, b);
    case ExprKind::kFloorDiv:
      return quotient(a, b, false);
    case ExprKind::kFloorMod:
      return quotient(a, b, true);
    case ExprKind::kMin:
      return {simple(min(a.lo, b.lo)), simple(min(a.hi, b.hi))};
    case ExprKind::kMax:
      return {simple(max(a.lo, b.lo)), simple(max(a.hi, b.hi))};
    default:
      return {};
  }
}

IndexRange IndexBounds::product(const IndexRange& a, const IndexRange& b) {
  if (nonnegative(a.lo) && nonnegative(b.lo)) {
    return {simple(a.lo * b.lo), simple(a.hi * b.hi)};
  }
  if (is_point(a) || is_point(b)) {
    int64_t factor = is_point(a) ? a.lo->int_value : b.lo->int_value;
    const IndexRange& other = is_point(a) ? b : a;
    PrimExpr low = simple(other.lo * factor), high = simple(other.hi * factor);
    return factor < 0 ? IndexRange{high, low} : IndexRange{low, high};
  }
  PrimExpr corners[] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
  PrimExpr low = corners[0], high = corners[0];
  for (const PrimExpr& corner : corners) {
    low = min(low, corner);
    high = max(high, corner);
  }
  return {simple(low), simple(high)};
}

// Division by zero yields 0.
IndexRange IndexBounds::quotient(const IndexRange& a, const IndexRange& b, bool remainder) {
  if (!nonnegative(b.lo)) {
    // A remainder is between 0 and its divisor; a quotient is no farther from 0 than the dividend.
    if (remainder) return {simple(min(b.lo + 1, 0)), simple(max(b.hi - 1, 0))};
    const PrimExpr far = simple(max(max(0 - a.lo, a.hi), 0));
    return {simple(0 - far), far};
  }
  if (is_point(b) && b.lo.is_int(0)) return {0, 0};
  bool positive = nonnegative(a.lo);
  if (remainder) {
    PrimExpr high = simple(b.hi - 1);
    return {0, positive ? simple(min(a.hi, high)) : high};
  }
  // The smallest divisor gives the largest quotient; if both ends are equal, use one expression.
  bool exact = b.lo.same_as(b.hi) || is_point(b);
  PrimExpr high = exact || analyzer_.prove_less(0, b.lo) ? simple(floordiv(a.hi, b.lo)) : a.hi;
  if (positive) return {0, high};
  PrimExpr low = is_point(b) ? floordiv(a.lo, b.lo) : a.lo;
  return {simple(min(low, 0)), simple(max(high, 0))};
}

void IndexBounds::learn(const PrimExpr& condition, bool truth) {
  ExprKind kind = condition.kind();
  if (kind == ExprKind::kNot) return learn(condition.operand(0), !truth);
  if ((kind == ExprKind::kAnd && truth) || (kind == ExprKind::kOr && !truth)) {
    learn(condition.operand(0), truth);
    learn(condition.operand(1), truth);
    return;
  }
  if (kind != ExprKind::kLt && kind != ExprKind::kLe && kind != ExprKind::kEq) return;
  if (kind == ExprKind::kEq && !truth) return;
  const PrimExpr &a = condition.operand(0), &b = condition.operand(1);
  if (!is_integer(a.dtype())) return;
  IndexRange left = range(a), right = range(b);
  auto add = [&](const PrimExpr& e, PrimExpr lo, PrimExpr hi) {
    if (e.is_int()) return;
    learnt_.push_back({e, lo, hi});
    ranges_.clear();
  };
  if (kind == ExprKind::kEq) {
    if (right.known()) add(a, right.lo, right.hi);
    if (left.known()) add(b, left.lo, left.hi);
    return;
  }
  // True: a < b or a <= b. False: b <= a or b < a.
  bool strict = (kind == ExprKind::kLt) == truth;
  const PrimExpr &small = truth ? a : b, &large = truth ? b : a;
  const IndexRange &small_range = truth ? left : right, &large_range = truth ? right : left;
  if (large_range.known()) add(small, {}, simple(large_range.hi - (strict ? 1 : 0)));
  if (small_range.known()) add(large, simple(small_range.lo + (strict ? 1 : 0)), {});
}

}  // namespace tapml::codegen
