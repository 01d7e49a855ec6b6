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

PrimExpr lower_call(const PrimExpr& call) {
  const std::string& name = call->name;
  if (call.dtype() == DType::kF64) {
    throw_internal("no own math for f64 yet", "intrinsic " + name);
  }
  auto as_f32 = [&](size_t i) { return cast(kF, call.operand(i)); };
  // Operands are bound once: the formulas use them several times.
  return bind("arg", as_f32(0), [&](PrimExpr x) {
    PrimExpr value;
    if (name == "exp") {
      value = exp_f32(x);
    } else if (name == "log") {
      value = log_f32(x);
    } else if (name == "sin") {
      value = sincos_f32(x, 0);
    } else if (name == "cos") {
      value = sincos_f32(x, 1);
    } else if (name == "tanh") {
      value = tanh_f32(x);
    } else {
      throw_internal("no own math for this function yet", "intrinsic " + name);
    }
    return cast(call.dtype(), value);
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
