// Arithmetic of two tensors.
#include "op/reference/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/rounding.h"
#include "op/elementwise.h"
#include "op/families.h"

namespace tapml::op {

namespace {

PrimExpr plus(PrimExpr a, PrimExpr b) { return a + b; }
PrimExpr minus(PrimExpr a, PrimExpr b) { return a - b; }
PrimExpr times(PrimExpr a, PrimExpr b) { return a * b; }
PrimExpr quotient(PrimExpr a, PrimExpr b) { return fdiv(a, b); }
PrimExpr larger(PrimExpr a, PrimExpr b) { return max(a, b); }
PrimExpr smaller(PrimExpr a, PrimExpr b) { return min(a, b); }

// Integers by squaring, from the exponent's highest bit down. A negative exponent gives the integer
// part of the real result: 1 / a for a = 1 and -1, else 0.
PrimExpr integer_power(const PrimExpr& a, const PrimExpr& b) {
  DType dtype = a.dtype();
  auto constant = [&](int64_t value) { return make_int(value, dtype); };
  bool is_signed = is_signed_integer(dtype);
  std::function<PrimExpr(int, PrimExpr)> steps = [&](int bit, PrimExpr power) {
    if (bit < 0) return power;
    PrimExpr set = ne(intrinsic("bit_and", intrinsic("shift_right", b, constant(bit)), constant(1)),
                      constant(0));
    PrimExpr next = power * power * select(set, a, constant(1));
    return bind("p", next, [&](PrimExpr p) { return steps(bit - 1, std::move(p)); });
  };
  PrimExpr power = steps(dtype_bits(dtype) - (is_signed ? 2 : 1), constant(1));
  if (!is_signed) return power;
  PrimExpr odd = ne(intrinsic("bit_and", b, constant(1)), constant(0));
  PrimExpr inverse =
      select(eq(a, constant(1)), constant(1),
             select(eq(a, constant(-1)), select(odd, constant(-1), constant(1)), constant(0)));
  return select(lt(b, constant(0)), inverse, power);
}

PrimExpr power(PrimExpr a, PrimExpr b) {
  if (is_float(a.dtype())) return intrinsic("pow", std::move(a), std::move(b));
  return bind("a", std::move(a), [&](PrimExpr x) {
    return bind("b", std::move(b), [&](PrimExpr y) { return integer_power(x, y); });
  });
}

// x - q * y; 0 * infinity is NaN.
PrimExpr remainder_of(const PrimExpr& x, const PrimExpr& y, const PrimExpr& q) {
  PrimExpr zero = number(0, x.dtype());
  return select(eq(q, zero), x, make_call("fma", x.dtype(), {zero - q, y, x}));
}

// x / y rounded down ("floor") or toward zero ("trunc"). Rounding a moderate quotient may move it
// past a whole number; the remainder, exact by fma, shows that.
PrimExpr whole_quotient(const char* rounding, const PrimExpr& x, const PrimExpr& y) {
  PrimExpr zero = number(0, x.dtype()), one = number(1, x.dtype());
  bool floor = std::string_view(rounding) == "floor";
  return bind("q", intrinsic(rounding, fdiv(x, y)), [&](PrimExpr q) {
    return bind("r", remainder_of(x, y, q), [&](PrimExpr r) {
      // The remainder has the sign of the divisor (floor) or of the dividend.
      PrimExpr negative = lt(floor ? y : x, zero);
      PrimExpr beyond = select(negative, lt(zero, r), lt(r, zero));
      // The quotient of a dividend below the divisor is known; the remainder may round to the
      // divisor.
      PrimExpr whole = intrinsic("abs", y);
      PrimExpr short_of =
          logical_and(le(whole, intrinsic("abs", x)), le(whole, intrinsic("abs", r)));
      PrimExpr step = floor ? one : select(eq(lt(x, zero), lt(y, zero)), one, zero - one);
      return q + select(beyond, zero - step, select(short_of, step, zero));
    });
  });
}

// The rule of an operator that divides: f(x, y) on variables.
using Quotient = PrimExpr (*)(const PrimExpr& x, const PrimExpr& y);
template <Quotient F>
PrimExpr division(PrimExpr a, PrimExpr b) {
  return bind("x", std::move(a), [&](PrimExpr x) {
    return bind("y", std::move(b), [&](PrimExpr y) { return F(x, y); });
  });
}

PrimExpr floor_quotient(const PrimExpr& x, const PrimExpr& y) {
  return is_float(x.dtype()) ? whole_quotient("floor", x, y) : floordiv(x, y);
}
PrimExpr trunc_quotient(const PrimExpr& x, const PrimExpr& y) {
  return is_float(x.dtype()) ? whole_quotient("trunc", x, y) : intrinsic("trunc_div", x, y);
}

// ---- remainders of floats

// Exponents of 2 between the least and the greatest magnitude of `e`, a subnormal one included.
int magnitude_bits(const PrimExpr& e) {
  const DType dtype = e.kind() == ExprKind::kCast ? e.operand(0).dtype() : e.dtype();
  switch (dtype) {
    case DType::kF16:
      return 16 + 24;
    case DType::kBF16:
      return 128 + 133;
    default:
      return e.dtype() == DType::kF64 ? 1024 + 1074 : 128 + 149;
  }
}

// The exact remainder of |x| by |y|, as C's fmod: subtracts multiples of |y| * 2^s, from the
// greatest s down. Each quotient is small enough that division, within 2.5 units in the last place,
// and truncation miss it by at most one, and the remainder is a float.
class ExactRemainder {
 public:
  ExactRemainder(PrimExpr x, PrimExpr y, int quotient_bits)
      : x_(std::move(x)), y_(std::move(y)), quotient_bits_(quotient_bits) {}

  // f(|x| modulo |y|).
  PrimExpr build(const std::function<PrimExpr(const PrimExpr&)>& f) const {
    const int steps = ceil_div(quotient_bits_, step_bits());
    return bind("m", intrinsic("abs", y_), [&](const PrimExpr& whole) {
      return bind("r", intrinsic("abs", x_),
                  [&](const PrimExpr& rest) { return step(steps - 1, whole, rest, f); });
    });
  }

 private:
  DType dtype() const { return x_.dtype(); }
  int step_bits() const { return dtype() == DType::kF64 ? 50 : 21; }

  // Infinite if it is too large; then it is never subtracted.
  PrimExpr scaled(PrimExpr whole, int exponent) const {
    const int most = dtype() == DType::kF64 ? 1000 : 126;
    for (; exponent > 0; exponent -= most) {
      whole = whole * number(std::ldexp(1.0, std::min(exponent, most)), dtype());
    }
    return whole;
  }

  PrimExpr step(int number_of, const PrimExpr& whole, const PrimExpr& rest,
                const std::function<PrimExpr(const PrimExpr&)>& f) const {
    if (number_of < 0) return f(rest);
    const PrimExpr zero = number(0, dtype());
    return bind("d", scaled(whole, number_of * step_bits()), [&](const PrimExpr& d) {
      return bind("q", intrinsic("trunc", fdiv(rest, d)), [&](const PrimExpr& q) {
        return bind("t", remainder_of(rest, d, q), [&](const PrimExpr& t) {
          const PrimExpr next = select(lt(t, zero), t + d, select(le(d, t), t - d, t));
          return bind("r", next,
                      [&](const PrimExpr& r) { return step(number_of - 1, whole, r, f); });
        });
      });
    });
  }

  PrimExpr x_, y_;
  int quotient_bits_;
};

// The remainder with the sign of x (also for zero) or, with `floor`, of y.
PrimExpr float_remainder(const PrimExpr& x, const PrimExpr& y, int quotient_bits, bool floor) {
  const PrimExpr zero = number(0, x.dtype());
  return ExactRemainder(x, y, quotient_bits).build([&](const PrimExpr& r) {
    PrimExpr signed_rest = select(eq(r, zero), x * zero, select(lt(x, zero), zero - r, r));
    if (!floor) return signed_rest;
    return bind("w", signed_rest, [&](const PrimExpr& w) {
      const PrimExpr apart = select(lt(y, zero), lt(zero, w), lt(w, zero));
      return select(apart, w + y, w);
    });
  });
}

template <bool kFloor>
PrimExpr remainder(PrimExpr a, PrimExpr b) {
  const bool is_real = is_float(a.dtype());
  const int bits = is_real ? std::max(magnitude_bits(a), magnitude_bits(b)) : 0;
  return bind("x", std::move(a), [&](const PrimExpr& x) {
    return bind("y", std::move(b), [&](const PrimExpr& y) {
      if (is_real) return float_remainder(x, y, bits, kFloor);
      return kFloor ? floormod(x, y) : intrinsic("trunc_mod", x, y);
    });
  });
}

tir::PrimFuncRef legalize_divide(const CallView& call) {
  return broadcasting(call, real_dtype(common_dtype(call)), quotient);
}

// Some integer divisors are 0; float divisors are not near 0.
bool generate_division(GeneratedCall& call, RandomStream& rng) {
  generate_partner(call, rng);
  GeneratedTensor& divisor = call.args[1].tensors[0];
  if (is_float(divisor.dtype)) {
    divisor.low = 0.25;
    divisor.high = 3;
  }
  return true;
}

// Bases above 0 and exponents of either sign for floats; small ones, some negative, for integers.
bool generate_power(GeneratedCall& call, RandomStream& rng) {
  generate_partner(call, rng);
  GeneratedTensor &base = call.args[0].tensors[0], &exponent = call.args[1].tensors[0];
  bool real = is_float(base.dtype);
  base.low = real ? 0.1 : -9;
  exponent.low = real ? -3 : -2;
  exponent.high = real ? 3 : 12;
  return true;
}

OperatorInfo binary_entry(const char* name, const char* doc, LegalizeRule legalize,
                          ReferenceRule reference, GenerateRule rule = generate_partner) {
  OperatorInfo info =
      binary_operator(name, doc, deduce_arithmetic, legalize, reference, number_dtypes(), -9, 9);
  info.generator.rule = rule;
  return info;
}

}  // namespace

std::span<const OperatorInfo> arithmetic_operators() {
  static const std::vector<OperatorInfo> kOperators = [] {
    std::vector<OperatorInfo> list = {
        binary_entry(
            "add",
            "a + b. Two float dtypes that differ are computed and returned in f32 (f64 where one "
            "is f64); integers have one dtype and wrap.",
            legalize_binary<plus>, reference::add),
        binary_entry("subtract", "a - b; dtypes as add.", legalize_binary<minus>,
                     reference::subtract),
        binary_entry("multiply", "a * b; dtypes as add.", legalize_binary<times>,
                     reference::multiply),
        binary_entry("divide", "The real quotient a / b; dtypes as add, but integers give f32.",
                     legalize_divide, reference::divide, generate_division),
        binary_entry(
            "floor_divide",
            "The largest whole number not above a / b; dtypes as add. Integers: 0 where b is 0; "
            "the least integer divided by -1 wraps to itself.",
            legalize_binary<division<floor_quotient>>, reference::floor_divide, generate_division),
        binary_entry(
            "trunc_divide", "a / b without its fraction; dtypes and corner cases as floor_divide.",
            legalize_binary<division<trunc_quotient>>, reference::trunc_divide, generate_division),
        binary_entry(
            "floor_mod",
            "The remainder of a by b with the sign of b; dtypes as add. Integers: 0 where b is 0. "
            "Floats: exact however large the quotient is, as C's fmod, with b added to it where "
            "its "
            "sign is not b's; NaN where b is 0 or a is infinite.",
            legalize_binary<remainder<true>>, reference::floor_mod, generate_division),
        binary_entry("mod",
                     "The remainder of a by b with the sign of a, as C's % and fmod; dtypes and "
                     "corner cases "
                     "as floor_mod.",
                     legalize_binary<remainder<false>>, reference::mod, generate_division),
        binary_entry(
            "power",
            "a to the power b; dtypes as add. Floats: the corners of C99's pow. Integers wrap; "
            "a negative exponent gives the real result's whole part (0, or 1 and -1 for such a).",
            legalize_binary<power>, reference::power, generate_power),
        binary_entry("maximum", "The larger of a and b, NaN where one is; dtypes as add.",
                     legalize_binary<larger>, reference::maximum),
        binary_entry("minimum", "The smaller of a and b, NaN where one is; dtypes as add.",
                     legalize_binary<smaller>, reference::minimum),
    };
    list[3].deduce = deduce_quotient;
    return list;
  }();
  return kOperators;
}

}  // namespace tapml::op
