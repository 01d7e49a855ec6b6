#include "passes/lower_math.h"

#include <cmath>
#include <limits>

#include "ir/exceptions.h"
#include "ir/intrinsics.h"
#include "tir/visit.h"

namespace tapml::passes {

namespace {

constexpr DType kF = DType::kF32;
constexpr DType kI = DType::kI32;

PrimExpr f32(double value) { return make_float(static_cast<float>(value), kF); }
PrimExpr i32(int64_t value) { return make_int(value, kI); }
PrimExpr fma(PrimExpr a, PrimExpr b, PrimExpr c) { return make_call("fma", kF, {a, b, c}); }
PrimExpr round_even(PrimExpr x) { return make_call("round", kF, {x}); }
PrimExpr fabs(PrimExpr x) { return make_call("abs", kF, {x}); }
PrimExpr as_float(PrimExpr bits) { return make_call("reinterpret", kF, {bits}); }
PrimExpr as_bits(PrimExpr x) { return make_call("reinterpret", kI, {x}); }
PrimExpr shl(PrimExpr x, int n) { return make_call("shift_left", kI, {x, i32(n)}); }
PrimExpr shr(PrimExpr x, int n) { return make_call("shift_right", kI, {x, i32(n)}); }
PrimExpr bit_and(PrimExpr x, int64_t mask) { return make_call("bit_and", kI, {x, i32(mask)}); }

const float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

// Evaluates `value` once.
template <class F>
PrimExpr bind(const char* name, PrimExpr value, F&& body) {
  Var var = make_var(name, value.dtype());
  return let(var, value, body(var));
}

// c[0] + x*(c[1] + x*(...)), by fused multiply-adds.
PrimExpr horner(PrimExpr x, std::initializer_list<double> coefficients) {
  PrimExpr sum;
  for (auto c = std::rbegin(coefficients); c != std::rend(coefficients); ++c) {
    sum = sum ? fma(sum, x, f32(*c)) : f32(*c);
  }
  return sum;
}

// 2^n for -126 <= n <= 127.
PrimExpr power_of_two(PrimExpr n) { return as_float(shl(n + i32(127), 23)); }

// x = n ln2 + r with |r| <= ln2 / 2; e^r by its Taylor series (its ninth term is below half an
// ULP); 2^n in two factors, so that denormal and overflowing results come out right.
PrimExpr exp_f32(PrimExpr x) {
  PrimExpr clamped = min(max(x, f32(-105)), f32(89.5));
  return bind("x", clamped, [&](PrimExpr c) {
    return bind("nf", round_even(c * f32(1.44269504088896341)), [&](PrimExpr nf) {
      PrimExpr high = fma(nf, f32(-0.693145751953125), c);
      return bind("r", fma(nf, f32(-1.42860682030941723e-6), high), [&](PrimExpr r) {
        PrimExpr tail = horner(r, {1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040});
        PrimExpr series = f32(1) + fma(r * r, tail, r);
        return bind("n", cast(kI, nf), [&](PrimExpr n) {
          return bind("half", shr(n, 1), [&](PrimExpr half) {
            PrimExpr scaled = series * power_of_two(half) * power_of_two(n - half);
            return select(make_call("isnan", DType::kBool, {x}), x, scaled);
          });
        });
      });
    });
  });
}

// x = 2^k m with sqrt(1/2) <= m < sqrt(2); log m by s = f / (2 + f), f = m - 1 (the classic
// fdlibm scheme in single precision).
PrimExpr log_f32(PrimExpr x) {
  PrimExpr tiny = lt(x, f32(1.17549435e-38));
  return bind("bits", as_bits(select(tiny, x * f32(33554432), x)), [&](PrimExpr bits) {
    PrimExpr offset = bits - i32(0x3f3504f3);
    PrimExpr k = shr(offset, 23) - select(tiny, i32(25), i32(0));
    PrimExpr mantissa = as_float(bit_and(offset, 0x007fffff) + i32(0x3f3504f3));
    return bind("k", cast(kF, k), [&](PrimExpr kf) {
      return bind("f", mantissa - f32(1), [&](PrimExpr f) {
        return bind("s", fdiv(f, f + f32(2)), [&](PrimExpr s) {
          return bind("z", s * s, [&](PrimExpr z) {
            PrimExpr series =
                z * horner(z, {0.66666662693, 0.40000972152, 0.28498786688, 0.24279078841});
            PrimExpr half_square = f32(0.5) * f * f;
            PrimExpr low = fma(s, half_square + series, kf * f32(9.0580006145e-06));
            PrimExpr value = fma(kf, f32(6.9313812256e-01), (low - half_square) + f);
            PrimExpr special =
                select(eq(x, f32(0)), f32(-kInf), select(eq(x, f32(kInf)), f32(kInf), f32(kNan)));
            PrimExpr usual = logical_and(lt(f32(0), x), lt(x, f32(kInf)));
            return select(usual, value, special);
          });
        });
      });
    });
  });
}

// Quadrants of pi/2 by a three-part Cody-Waite reduction; sine and cosine series on
// [-pi/4, pi/4] (Cephes coefficients). `shift` 0: sine, 1: cosine.
PrimExpr sincos_f32(PrimExpr x, int shift) {
  return bind("qf", round_even(x * f32(0.636619772367581343)), [&](PrimExpr qf) {
    PrimExpr r = fma(qf, f32(-1.5707962512969971), x);
    r = fma(qf, f32(-7.5497894158615964e-08), r);
    r = fma(qf, f32(-5.3903028581581184e-15), r);
    return bind("r", r, [&](PrimExpr r) {
      return bind("z", r * r, [&](PrimExpr z) {
        PrimExpr sine =
            fma(r * z, horner(z, {-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4}), r);
        PrimExpr cosine = fma(
            z * z, horner(z, {4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5}),
            fma(z, f32(-0.5), f32(1)));
        return bind("q", cast(kI, qf) + i32(shift), [&](PrimExpr q) {
          PrimExpr value = select(eq(bit_and(q, 1), i32(0)), sine, cosine);
          return bind("v", value,
                      [&](PrimExpr v) { return select(eq(bit_and(q, 2), i32(0)), v, f32(0) - v); });
        });
      });
    });
  });
}

// Series near zero, 1 - 2 / (e^(2|x|) + 1) elsewhere.
PrimExpr tanh_f32(PrimExpr x) {
  return bind("a", fabs(x), [&](PrimExpr a) {
    return bind("z", x * x, [&](PrimExpr z) {
      PrimExpr small = fma(x * z,
                           horner(z, {-3.33332819422e-1, 1.33314422036e-1, -5.37397155531e-2,
                                      2.06390887954e-2, -5.70498872745e-3}),
                           x);
      PrimExpr large = f32(1) - fdiv(f32(2), exp_f32(a + a) + f32(1));
      PrimExpr positive = le(f32(0), x);
      return select(lt(a, f32(0.625)), small, select(positive, large, f32(0) - large));
    });
  });
}

PrimExpr sqrt_f32(PrimExpr x) { return make_call("sqrt", kF, {x}); }

PrimExpr with_sign(PrimExpr magnitude, PrimExpr x) {
  return bind("m", magnitude, [&](PrimExpr m) { return select(lt(x, f32(0)), f32(0) - m, m); });
}

PrimExpr atan_f32(PrimExpr x) {
  return bind("a", fabs(x), [&](PrimExpr a) {
    PrimExpr big = lt(f32(2.414213562373095), a), middle = lt(f32(0.4142135623730950), a);
    PrimExpr base =
        select(big, f32(1.5707963267948966), select(middle, f32(0.7853981633974483), f32(0)));
    PrimExpr reduced =
        select(big, fdiv(f32(-1), a), select(middle, fdiv(a - f32(1), a + f32(1)), a));
    return bind("r", reduced, [&](PrimExpr r) {
      return bind("z", r * r, [&](PrimExpr z) {
        PrimExpr series =
            horner(z, {-3.33329491539e-1, 1.99777106478e-1, -1.38776856032e-1, 8.05374449538e-2});
        return with_sign(base + fma(series * z, r, r), x);
      });
    });
  });
}

PrimExpr asin_f32(PrimExpr x) { return atan_f32(fdiv(x, sqrt_f32((f32(1) - x) * (f32(1) + x)))); }

PrimExpr erf_f32(PrimExpr x) {
  return bind("a", fabs(x), [&](PrimExpr a) {
    return bind("t", fdiv(f32(1), fma(f32(0.3275911), a, f32(1))), [&](PrimExpr t) {
      PrimExpr series =
          t * horner(t, {0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429});
      return with_sign(f32(1) - series * exp_f32(f32(0) - a * a), x);
    });
  });
}

PrimExpr pow_f32(PrimExpr x, PrimExpr y) {
  return bind("p", exp_f32(y * log_f32(fabs(x))), [&](PrimExpr power) {
    PrimExpr whole = eq(make_call("trunc", kF, {y}), y);
    PrimExpr half = y * f32(0.5);
    PrimExpr even = eq(make_call("trunc", kF, {half}), half);
    PrimExpr below = select(whole, select(even, power, f32(0) - power), f32(kNan));
    return select(logical_or(eq(y, f32(0)), eq(x, f32(1))), f32(1),
                  select(lt(x, f32(0)), below, power));
  });
}

PrimExpr unary_f32(const std::string& name, PrimExpr x) {
  if (name == "exp") return exp_f32(x);
  if (name == "exp2") return exp_f32(x * f32(0.6931471805599453));
  if (name == "log") return log_f32(x);
  if (name == "log2") return log_f32(x) * f32(1.4426950408889634);
  if (name == "log10") return log_f32(x) * f32(0.4342944819032518);
  if (name == "sin") return sincos_f32(x, 0);
  if (name == "cos") return sincos_f32(x, 1);
  if (name == "tan") return fdiv(sincos_f32(x, 0), sincos_f32(x, 1));
  if (name == "asin") return asin_f32(x);
  if (name == "acos") return f32(1.5707963267948966) - asin_f32(x);
  if (name == "atan") return atan_f32(x);
  if (name == "sinh") return (exp_f32(x) - exp_f32(f32(0) - x)) * f32(0.5);
  if (name == "cosh") return (exp_f32(x) + exp_f32(f32(0) - x)) * f32(0.5);
  if (name == "tanh") return tanh_f32(x);
  if (name == "asinh") {
    return with_sign(log_f32(fabs(x) + sqrt_f32(fma(x, x, f32(1)))), x);
  }
  if (name == "acosh") return log_f32(x + sqrt_f32((x - f32(1)) * (x + f32(1))));
  if (name == "atanh") return log_f32(fdiv(f32(1) + x, f32(1) - x)) * f32(0.5);
  if (name == "erf") return erf_f32(x);
  throw_internal("no own math for this function", "intrinsic " + name);
}

// f64 stays a call: the platform's own function.
PrimExpr lower_call(const PrimExpr& call) {
  if (call.dtype() == DType::kF64) return PrimExpr();
  // Operands are bound once: the formulas use them several times.
  return bind("x", cast(kF, call.operand(0)), [&](PrimExpr x) {
    if (call->name != "pow") return cast(call.dtype(), unary_f32(call->name, x));
    return bind("y", cast(kF, call.operand(1)),
                [&](PrimExpr y) { return cast(call.dtype(), pow_f32(x, y)); });
  });
}

}  // namespace

PrimExpr lower_math(const PrimExpr& expr) {
  return rewrite_expr(expr, [](const PrimExpr& e) {
    if (e.kind() != ExprKind::kCall) return PrimExpr();
    const IntrinsicInfo* info = find_intrinsic(e->name);
    if (!info) throw_internal("unknown intrinsic", e->name);
    return info->needs_math ? lower_call(e) : PrimExpr();
  });
}

tir::PrimFuncRef lower_math(const tir::PrimFunc& func) {
  auto result = std::make_shared<tir::PrimFunc>(func);
  result->body = tir::rewrite(func.body, [](const PrimExpr& e) { return lower_math(e); });
  return result;
}

}  // namespace tapml::passes
