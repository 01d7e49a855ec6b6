#include "interp/shadow.h"

#include <algorithm>

#include "interp/shared_errors.h"
#include "interp/tir_code.h"
#include "ir/exceptions.h"
#include "op/reference/dot.h"

namespace tapml::interp {

namespace {

using op::reference::kInfinity;
using op::reference::kMathFactor;

template <class Base, class F>
struct ReferenceLeaf final : Base {
  explicit ReferenceLeaf(F f) : f(std::move(f)) {}
  auto run(Frame& frame) const -> decltype(std::declval<const Base&>().run(frame)) override {
    return f(frame);
  }
  F f;
};
template <class F>
ShadowPtr make_shadow(F f) {
  return std::make_unique<ReferenceLeaf<ShadowCode, F>>(std::move(f));
}
template <class F>
DoubtPtr make_doubt(F f) {
  return std::make_unique<ReferenceLeaf<DoubtCode, F>>(std::move(f));
}

// The parts of an error beside its bound.
struct Parts {
  double systematic, variance;
};

// Sets the parts; of an open element, none is known.
Shadow with_parts(Shadow shadow, Parts parts) {
  const double bound = shadow.bound();
  shadow.systematic = std::isnan(parts.systematic) ? bound : std::min(parts.systematic, bound);
  const bool known = std::isfinite(bound) && std::isfinite(shadow.value);
  shadow.variance = known && std::isfinite(parts.variance) ? parts.variance : 0;
  return shadow;
}
// Adds what an operation's own rounding does where platforms may flush small results.
Parts flushed(DType dtype, double value, Parts parts) {
  const double least = op::reference::underflow(dtype);
  if (std::fabs(value) * unit_roundoff(dtype) >= least) return parts;
  return {parts.systematic + least, parts.variance + least * least / 12};
}
// Where only the bound is known.
Shadow bounded(Shadow shadow) { return with_parts(shadow, {shadow.bound(), 0}); }

// A `value` computed within `error`, then rounded to dtype: the rule of op::reference::put. Without
// the parts of the error.
Shadow rounded(DType dtype, double value, double error, double factor = op::kRoundFactor) {
  if (std::isnan(error)) error = kInfinity;
  if (!std::isfinite(value)) {
    return {.value = value, .moved = error, .magnitude = kInfinity};
  }
  double unit = unit_roundoff(dtype), magnitude = std::fabs(value);
  double limit = dtype == DType::kF64 ? kInfinity : op::reference::largest(dtype) * (1 + unit / 2);
  if (magnitude - error >= limit) {
    return {.value = std::copysign(kInfinity, value), .magnitude = kInfinity};
  }
  if (magnitude + error >= limit) return Shadow::unknown(value);
  double bound = error + factor * unit * (magnitude + error) + op::reference::underflow(dtype);
  return {.value = value, .moved = bound, .magnitude = magnitude + bound};
}

Shadow sum(DType dtype, const Shadow& a, const Shadow& b, double sign, const Allowances& allowed) {
  const double value = a.value + sign * b.value;
  if (!std::isfinite(value)) return bounded(rounded(dtype, value, a.bound() + b.bound()));
  const bool of_products = a.of_products || b.of_products;
  const double unit = of_products && allowed.half_sums && dtype == DType::kF32
                          ? op::reference::kHalfUnit
                          : unit_roundoff(dtype);
  const double operands = a.operand_variance + b.operand_variance;
  const double magnitude = a.magnitude + b.magnitude, step = unit * magnitude;
  Shadow result{
      .value = value,
      .moved = a.moved + b.moved,
      .squared_rounding = a.squared_rounding + b.squared_rounding + step * step + operands,
      .magnitude = magnitude};
  result.operand_shift = a.operand_shift + sign * b.operand_shift;
  const Shadow range = rounded(dtype, value, result.bound() + std::fabs(result.operand_shift));
  if (!std::isfinite(range.value) || !std::isfinite(range.moved)) return bounded(range);
  result.of_products = of_products;
  // The longer sum takes the other one's terms, or the other value as a term.
  const bool a_is_longer = a.sum.count >= b.sum.count;
  const Shadow &sum = a_is_longer ? a : b, &other = a_is_longer ? b : a;
  result.sum = sum.sum;
  if (sum.sum.count == 0) result.sum.add(a_is_longer ? sum.value : sign * sum.value);
  if (other.sum.count == 0) {
    result.sum.add(a_is_longer ? sign * other.value : other.value);
  } else {
    result.sum.add(other.sum);
  }
  // A sum with 0 is exact.
  if (a.value != 0 && b.value != 0) {
    result.sum.variance += op::reference::rounding_variance(unit, value);
    if (unit > unit_roundoff(dtype)) result.sum.variance += op::reference::kHalfFloor;
  }
  return with_parts(result, {a.systematic + b.systematic, a.variance + b.variance + operands});
}

// What rounding an operand of a product with `other` to the allowed format adds to the product.
void add_operand(const Allowances& allowed, double operand, double other, Shadow& term) {
  const op::reference::OperandRounding rounding(allowed.precision, DType::kF32);
  const op::ProductFormat format = allowed.precision == OperandPrecision::kBF16
                                       ? op::ProductFormat::kBF16
                                       : op::ProductFormat::kF16;
  // f16 and TF32 have the same digits.
  if (rounding.relative == 0 || op::rounded(format, operand) == operand) return;
  term.operand_variance += rounding.relative * term.value * term.value;
  term.operand_variance += rounding.floor * other * other;
  term.operand_shift += rounding.shared * term.value;
}

Shadow product(DType dtype, const Shadow& a, const Shadow& b, const Allowances& allowed) {
  double x = a.bound(), y = b.bound();
  double error = op::reference::scaled(a.value, y) + op::reference::scaled(b.value, x) +
                 op::reference::scaled(x, y);
  const double value = a.value * b.value;
  const double va = a.random(), vb = b.random();
  const Parts parts = {std::fabs(a.value) * b.systematic_part() +
                           std::fabs(b.value) * a.systematic_part() +
                           a.systematic_part() * b.systematic_part(),
                       a.value * a.value * vb + b.value * b.value * va + va * vb +
                           op::reference::rounding_variance(unit_roundoff(dtype), value)};
  Shadow result = with_parts(rounded(dtype, value, error), flushed(dtype, value, parts));
  result.of_products = true;
  if (dtype == DType::kF32 && allowed.of_products() && std::isfinite(result.bound())) {
    add_operand(allowed, a.value, b.value, result);
    add_operand(allowed, b.value, a.value, result);
    if (allowed.half_sums) {
      result.operand_variance += op::reference::rounding_variance(op::reference::kHalfUnit, value) +
                                 op::reference::kHalfFloor;
    }
  }
  return result;
}

Shadow quotient(DType dtype, const Shadow& a, const Shadow& b, const Allowances& allowed) {
  const double factor = allowed.relaxed_division ? kMathFactor : op::kRoundFactor;
  double value = a.value / b.value, x = a.bound(), y = b.bound();
  const double own = op::reference::scaled(value, factor * unit_roundoff(dtype));
  if (x == 0 && y == 0) {
    return with_parts(rounded(dtype, value, 0, factor), flushed(dtype, value, {own, 0}));
  }
  if (std::fabs(b.value) <= y) return Shadow::unknown(value);
  double error = 0;
  for (double p : {a.value - x, a.value + x}) {
    for (double q : {b.value - y, b.value + y}) error = std::max(error, std::fabs(p / q - value));
  }
  const Shadow result = rounded(dtype, value, error, factor);
  // Beyond small errors of the divisor, a quotient is not linear.
  if (y > 0.01 * std::fabs(b.value)) return bounded(result);
  const Parts parts = {
      (a.systematic_part() + std::fabs(value) * b.systematic_part()) / (std::fabs(b.value) - y) +
          own,
      (a.random() + value * value * b.random()) / (b.value * b.value)};
  return with_parts(result, flushed(dtype, value, parts));
}

Shadow one_of(const Shadow& a, const Shadow& b, double value) {
  if (std::isnan(a.value) || std::isnan(b.value)) return Shadow::exact(a.value + b.value);
  if (std::fabs(a.value - b.value) > a.bound() + b.bound()) return value == a.value ? a : b;
  double bound = std::max(a.bound(), b.bound());
  return bounded({.value = value, .moved = bound, .magnitude = std::fabs(value) + bound});
}

// An intrinsic of float operands, evaluated in f64 by the interpreter itself, to avoid one more
// list of rules.
class Intrinsic {
 public:
  Intrinsic(const PrimExpr& call, const Allowances& allowed)
      : name_(call->name), dtype_(call.dtype()) {
    if (!allowed.relaxed_division && (name_ == "sqrt" || name_ == "rsqrt")) {
      factor_ = (name_ == "rsqrt" ? 2 : 1) * op::kRoundFactor;
    }
    std::vector<PrimExpr> operands;
    for (const PrimExpr& operand : call->operands) {
      (void)operand;
      operands.push_back(make_var("x", DType::kF64));
    }
    for (const PrimExpr& operand : operands) slots_.push_back(compiler_.slot(operand));
    code_ = compiler_.floating(make_call(name_, DType::kF64, operands));
    frame_ = compiler_.make_frame();
  }

  Shadow operator()(const std::vector<Shadow>& operands) {
    std::vector<double> at;
    for (const Shadow& operand : operands) at.push_back(operand.value);
    double value = evaluate(at);
    if (name_ == "sin" || name_ == "cos") return wave(operands[0], value);
    // Tries the ends of the operands' ranges; exact for functions that are monotonic in each
    // operand.
    double error = 0;
    for (size_t corner = 0; corner < size_t{1} << operands.size(); ++corner) {
      for (size_t i = 0; i < operands.size(); ++i) {
        double bound = operands[i].bound();
        at[i] = operands[i].value + (corner >> i & 1 ? bound : -bound);
        if (name_ == "sqrt" && operands[i].value >= 0) at[i] = std::max(at[i], 0.0);
      }
      double end = evaluate(at);
      if (end == value || (std::isnan(end) && std::isnan(value))) continue;
      error = std::isnan(end) ? kInfinity : std::max(error, std::fabs(end - value));
    }
    // A whole number needs no rounding.
    if (error == 0 && is_rounding()) return Shadow::exact(value);
    const Shadow result = rounded(dtype_, value, error, factor_);
    if (operands.size() != 1 || is_rounding()) return bounded(result);
    const Shadow& x = operands[0];
    const double own = op::reference::scaled(value, factor_ * unit_roundoff(dtype_));
    const double random = reach(x.value, std::sqrt(x.random()), value);
    const double systematic = reach(x.value, x.systematic_part(), value);
    // An end outside of the function's domain says nothing about what is in between.
    if (!std::isfinite(random) || !std::isfinite(systematic)) return bounded(result);
    return with_parts(result, flushed(dtype_, value, {systematic + own, random * random}));
  }

 private:
  // How far the value of one operand moves if that moves by `e`; infinite if there is no value.
  double reach(double x, double e, double value) {
    if (e == 0) return 0;
    double error = 0;
    for (const double at : {x - e, x + e}) {
      const double end = evaluate({name_ == "sqrt" ? std::max(at, 0.0) : at});
      error = std::isnan(end) ? kInfinity : std::max(error, std::fabs(end - value));
    }
    return error;
  }

  bool is_rounding() const {
    return name_ == "floor" || name_ == "ceil" || name_ == "trunc" || name_ == "round";
  }

  double evaluate(const std::vector<double>& operands) {
    for (size_t i = 0; i < operands.size(); ++i) frame_.floats[slots_[i]] = operands[i];
    return code_->run(frame_);
  }

  Shadow wave(const Shadow& x, double value) const {
    double unit = op::reference::compute_unit(dtype_);
    double own = 4 * unit + 0x1p-12 * unit * std::fabs(x.value);
    if (name_ == "sin") own = std::min(own, 8 * unit * std::fabs(x.value));
    return bounded(rounded(dtype_, value, std::min(x.bound(), 2.0) + own));
  }

  std::string name_;
  DType dtype_;
  double factor_ = kMathFactor;
  ExprCompiler compiler_;
  std::vector<size_t> slots_;
  FloatPtr code_;
  Frame frame_;
};

bool might_cross(const Shadow& a, const Shadow& b) {
  double bounds = a.bound() + b.bound();
  return bounds > 0 && !(std::fabs(a.value - b.value) > bounds);
}

DoubtPtr either(DoubtPtr a, DoubtPtr b) {
  if (!a) return b;
  if (!b) return a;
  return make_doubt([a = std::move(a), b = std::move(b)](Frame& frame) {
    return a->run(frame) || b->run(frame);
  });
}

DoubtPtr doubt_of_any(ExprCompiler& compiler, const std::vector<PrimExpr>& exprs) {
  DoubtPtr result;
  for (const PrimExpr& e : exprs) {
    if (!is_float(e.dtype())) result = either(std::move(result), compile_doubt(compiler, e));
  }
  return result;
}

// The analyzer loses sight of a unique_ptr that a lambda captures.
// NOLINTBEGIN(clang-analyzer-cplusplus.NewDeleteLeaks)

ShadowPtr with_doubt(DoubtPtr doubt, ShadowPtr code) {
  if (!doubt) return code;
  return make_shadow([doubt = std::move(doubt), code = std::move(code)](Frame& frame) {
    Shadow result = code->run(frame);
    return doubt->run(frame) ? Shadow::unknown(result.value) : result;
  });
}

ShadowPtr compile_select(ExprCompiler& compiler, const PrimExpr& expr) {
  return make_shadow([condition = compiler.integer(expr.operand(0)),
                      doubt = compile_doubt(compiler, expr.operand(0)),
                      a = compile_shadow(compiler, expr.operand(1)),
                      b = compile_shadow(compiler, expr.operand(2))](Frame& frame) {
    bool first = condition->run(frame) != 0;
    if (!doubt || !doubt->run(frame)) return first ? a->run(frame) : b->run(frame);
    Shadow chosen = first ? a->run(frame) : b->run(frame);
    Shadow other = first ? b->run(frame) : a->run(frame);
    double error = std::max(chosen.bound(), other.bound() + std::fabs(chosen.value - other.value));
    return bounded({.value = chosen.value,
                    .moved = std::isnan(error) ? kInfinity : error,
                    .magnitude = std::max(chosen.magnitude, other.magnitude)});
  });
}

ShadowPtr compile_cast(ExprCompiler& compiler, const PrimExpr& expr) {
  DType dtype = expr.dtype();
  const PrimExpr& from = expr.operand(0);
  if (!is_float(from.dtype())) {
    ShadowPtr code =
        make_shadow([dtype, source = from.dtype(), a = compiler.integer(from)](Frame& frame) {
          int64_t bits = a->run(frame);
          double value = source == DType::kU64 ? static_cast<double>(static_cast<uint64_t>(bits))
                                               : static_cast<double>(bits);
          return round_float(dtype, value) == value ? Shadow::exact(value)
                                                    : bounded(rounded(dtype, value, 0));
        });
    return with_doubt(compile_doubt(compiler, from), std::move(code));
  }
  ShadowPtr a = compile_shadow(compiler, from);
  if (unit_roundoff(dtype) <= unit_roundoff(from.dtype()) &&
      !(dtype == DType::kF16 && from.dtype() == DType::kBF16)) {
    return a;
  }
  return make_shadow([dtype, a = std::move(a)](Frame& frame) {
    Shadow wide = a->run(frame);
    if (wide.bound() == 0 && round_float(dtype, wide.value) == wide.value) return wide;
    const op::reference::Element stored = op::reference::stored(
        dtype, wide.value, {wide.bound(), wide.systematic_part(), wide.random()});
    return with_parts(rounded(dtype, wide.value, wide.bound()),
                      {stored.error.systematic, stored.error.variance});
  });
}

ShadowPtr compile_call(ExprCompiler& compiler, const PrimExpr& expr) {
  DType dtype = expr.dtype();
  std::vector<ShadowPtr> operands;
  for (const PrimExpr& operand : expr->operands) {
    if (!is_float(operand.dtype())) {
      // Bits that are reinterpreted as a float are exact, or nothing is known.
      ShadowPtr code = make_shadow(
          [a = compiler.floating(expr)](Frame& frame) { return Shadow::exact(a->run(frame)); });
      return with_doubt(doubt_of_any(compiler, expr->operands), std::move(code));
    }
    operands.push_back(compile_shadow(compiler, operand));
  }
  if (expr->name == "reinterpret") return std::move(operands.at(0));
  if (expr->name == "abs") {
    return make_shadow([a = std::move(operands.at(0))](Frame& frame) {
      Shadow result = a->run(frame);
      if (result.value < 0) result.operand_shift = -result.operand_shift;
      result.value = std::fabs(result.value);
      return result;
    });
  }
  if (expr->name == "fma") {
    return make_shadow([dtype, a = std::move(operands.at(0)), b = std::move(operands.at(1)),
                        c = std::move(operands.at(2)), allowed = compiler.allowed](Frame& frame) {
      Shadow factor = a->run(frame);
      const Shadow term = product(dtype, factor, b->run(frame), allowed);
      return sum(dtype, term, c->run(frame), 1, allowed);
    });
  }
  auto intrinsic = std::make_shared<Intrinsic>(expr, compiler.allowed);
  return make_shadow([intrinsic, operands = std::move(operands)](Frame& frame) {
    std::vector<Shadow> values;
    for (const ShadowPtr& operand : operands) values.push_back(operand->run(frame));
    return (*intrinsic)(values);
  });
}

ShadowPtr compile_load(ExprCompiler& compiler, const PrimExpr& expr) {
  tir::Buffer buffer = tir::load_buffer(expr);
  ShadowPtr code = make_shadow([slot = compiler.buffer_slot(buffer),
                                at = compiler.offset(buffer, expr->operands),
                                shared = compiler.shared.contains(&*expr)](Frame& frame) {
    int64_t position = at->run(frame);
    const Shadow& element = frame.buffers[slot].shadows[position];
    return shared ? element.shared() : element;
  });
  return with_doubt(doubt_of_any(compiler, expr->operands), std::move(code));
}

// Binds the variable of a let, in the program's dtypes and as a shadow, and runs `body`.
template <class Base, class Body>
std::unique_ptr<Base> compile_let(ExprCompiler& compiler, const PrimExpr& expr, Body body) {
  const Var& var = expr.operand(0);
  const PrimExpr& value = expr.operand(1);
  size_t slot = compiler.slot(var);
  if (!is_float(var.dtype())) {
    auto f = [slot, value = compiler.integer(value), body = std::move(body)](Frame& frame) {
      frame.ints[slot] = value->run(frame);
      return body->run(frame);
    };
    return std::make_unique<ReferenceLeaf<Base, decltype(f)>>(std::move(f));
  }
  auto f = [slot, shared = uses(expr.operand(2), var) > 1, value = compiler.floating(value),
            shadow = compile_shadow(compiler, value), body = std::move(body)](Frame& frame) {
    Shadow bound = shadow->run(frame);
    if (shared) bound = bound.shared();
    frame.floats[slot] = value->run(frame);
    frame.shadows[slot] = bound;
    return body->run(frame);
  };
  return std::make_unique<ReferenceLeaf<Base, decltype(f)>>(std::move(f));
}

template <class F>
ShadowPtr binary(ExprCompiler& compiler, const PrimExpr& expr, F f) {
  // Both have the same error.
  const bool same = same_expr(expr.operand(0), expr.operand(1));
  return make_shadow([a = compile_shadow(compiler, expr.operand(0)),
                      b = compile_shadow(compiler, expr.operand(1)), f, same](Frame& frame) {
    Shadow first = a->run(frame);
    if (same) first = first.shared();
    return same ? f(first, first) : f(first, b->run(frame));
  });
}

// NOLINTEND(clang-analyzer-cplusplus.NewDeleteLeaks)

}  // namespace

double Shadow::bound() const {
  double bound = moved + shift() + op::kTails * std::sqrt(squared_rounding * sum.repetition());
  return std::isnan(bound) ? kInfinity : bound;
}

Shadow Shadow::shared() const {
  if (random() == 0) return *this;
  Shadow result{.value = value, .moved = bound(), .magnitude = magnitude};
  result.systematic = result.moved;
  return result;
}

ShadowPtr compile_shadow(ExprCompiler& compiler, const PrimExpr& expr) {
  DType dtype = expr.dtype();
  const Allowances& allowed = compiler.allowed;
  switch (expr.kind()) {
    case ExprKind::kFloat:
      return make_shadow(
          [value = round_float(dtype, expr->float_value)](Frame&) { return Shadow::exact(value); });
    case ExprKind::kVar:
      return make_shadow(
          [slot = compiler.slot(expr)](Frame& frame) { return frame.shadows[slot]; });
    case ExprKind::kAdd:
      return binary(compiler, expr, [dtype, allowed](const Shadow& a, const Shadow& b) {
        return sum(dtype, a, b, 1, allowed);
      });
    case ExprKind::kSub:
      return binary(compiler, expr, [dtype, allowed](const Shadow& a, const Shadow& b) {
        return sum(dtype, a, b, -1, allowed);
      });
    case ExprKind::kMul:
      return binary(compiler, expr, [dtype, allowed](const Shadow& a, const Shadow& b) {
        return product(dtype, a, b, allowed);
      });
    case ExprKind::kDiv:
      return binary(compiler, expr, [dtype, allowed](const Shadow& a, const Shadow& b) {
        return quotient(dtype, a, b, allowed);
      });
    case ExprKind::kMin:
      return binary(compiler, expr, [](const Shadow& a, const Shadow& b) {
        return one_of(a, b, std::min(a.value, b.value));
      });
    case ExprKind::kMax:
      return binary(compiler, expr, [](const Shadow& a, const Shadow& b) {
        return one_of(a, b, std::max(a.value, b.value));
      });
    case ExprKind::kSelect:
      return compile_select(compiler, expr);
    case ExprKind::kCast:
      return compile_cast(compiler, expr);
    case ExprKind::kLoad:
      return compile_load(compiler, expr);
    case ExprKind::kLet:
      return with_doubt(
          is_float(expr.operand(0).dtype()) ? nullptr : compile_doubt(compiler, expr.operand(1)),
          compile_let<ShadowCode>(compiler, expr, compile_shadow(compiler, expr.operand(2))));
    case ExprKind::kCall:
      return compile_call(compiler, expr);
    default:
      throw_internal("the reference evaluator cannot evaluate " + to_string(expr));
  }
}

DoubtPtr compile_doubt(ExprCompiler& compiler, const PrimExpr& expr) {
  switch (expr.kind()) {
    case ExprKind::kLoad: {
      tir::Buffer buffer = tir::load_buffer(expr);
      DoubtPtr element = make_doubt([slot = compiler.buffer_slot(buffer),
                                     at = compiler.offset(buffer, expr->operands)](Frame& frame) {
        int64_t position = at->run(frame);
        return frame.buffers[slot].shadows[position].moved > 0;
      });
      return either(doubt_of_any(compiler, expr->operands), std::move(element));
    }
    case ExprKind::kLet: {
      DoubtPtr body = compile_doubt(compiler, expr.operand(2));
      DoubtPtr value =
          is_float(expr.operand(0).dtype()) ? nullptr : compile_doubt(compiler, expr.operand(1));
      if (body) body = compile_let<DoubtCode>(compiler, expr, std::move(body));
      return either(std::move(value), std::move(body));
    }
    case ExprKind::kCast: {
      const PrimExpr& from = expr.operand(0);
      if (!is_float(from.dtype())) break;
      return make_doubt([dtype = expr.dtype(), a = compile_shadow(compiler, from)](Frame& frame) {
        Shadow x = a->run(frame);
        double bound = x.bound();
        if (dtype == DType::kBool) return bound > 0 && std::fabs(x.value) <= bound;
        return bound > 0 && !(std::trunc(x.value - bound) == std::trunc(x.value + bound));
      });
    }
    case ExprKind::kCall:
      if (expr->operands.empty() || !is_float(expr.operand(0).dtype())) break;
      // isnan and similar functions, or the bits of a float, which its f64 value does not have.
      return make_doubt([nan = expr.dtype() == DType::kBool,
                         a = compile_shadow(compiler, expr.operand(0))](Frame& frame) {
        double bound = a->run(frame).bound();
        return nan ? std::isinf(bound) : bound > 0;
      });
    default:
      if (is_comparison(expr.kind()) && is_float(expr.operand(0).dtype())) {
        return make_doubt([a = compile_shadow(compiler, expr.operand(0)),
                           b = compile_shadow(compiler, expr.operand(1))](Frame& frame) {
          Shadow first = a->run(frame);
          return might_cross(first, b->run(frame));
        });
      }
  }
  return doubt_of_any(compiler, expr->operands);
}

}  // namespace tapml::interp
