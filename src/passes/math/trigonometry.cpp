// sin, cos, tan and their inverses.

#include "passes/math/functions.h"
#include "passes/math/steps.h"

namespace tapml::passes::math {

namespace {

constexpr double kHalfPi = 1.57079637, kHalfPiLow = -4.37113883e-08;  // f32, and the rest

PrimExpr mul_high(PrimExpr a, PrimExpr b) {
  return make_call("mul_high", DType::kU32, {std::move(a), std::move(b)});
}

// |x| = n pi/2 + angle, |angle| <= pi/4, n modulo 4.
struct Quadrant {
  PrimExpr n;  // u32
  Pair angle;
};

// Multiplies the 24 bits of x by the 96 bits of 2/pi that matter at its exponent: earlier bits give
// whole turns, later ones are negligible. The same for all x, from pi/4 to the largest.
Quadrant reduce(Steps& s, const PrimExpr& a) {
  constexpr int64_t kWords[] = {0,          0xA2F9836E, 0x4E441529, 0xFC2757D1,
                                0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB};
  PrimExpr bits = s(make_call("reinterpret", DType::kU32, {a}));
  PrimExpr mantissa = s(bit_op("bit_or", bit_and(bits, 0x007fffff), u32(0x00800000)));
  // First bit of 2/pi that is needed, after 32 zeros; x below pi/4 is not reduced.
  PrimExpr exponent = max(shift_right(bits, 23), u32(120));
  PrimExpr offset = s(exponent - u32(120));
  PrimExpr index = s(shift_right(offset, 5)), shift = s(bit_and(offset, 31));
  auto word = [&](size_t j) {
    PrimExpr value = u32(kWords[4 + j]);
    for (size_t i = 4; i-- > 0;) {
      value = select(eq(index, u32(static_cast<int64_t>(i))), u32(kWords[i + j]), value);
    }
    return s(value);
  };
  PrimExpr words[] = {word(0), word(1), word(2), word(3)};
  PrimExpr back = s(u32(32) - shift);
  auto window = [&](size_t j) {
    return s(bit_op("bit_or", bit_op("shift_left", words[j], shift),
                    bit_op("shift_right", words[j + 1], back)));
  };
  PrimExpr first = window(0), second = window(1), third = window(2);
  PrimExpr middle = s(mantissa * second);
  PrimExpr low = s(middle + mul_high(mantissa, third));
  PrimExpr carry = select(lt(low, middle), u32(1), u32(0));
  PrimExpr high = s(mantissa * first + mul_high(mantissa, second) + carry);
  // high:low is the quotient with 62 fractional bits.
  PrimExpr small = s(lt(a, f32(0.785)));
  PrimExpr n = s(select(small, u32(0), shift_right(high + u32(0x20000000), 30)));
  PrimExpr fraction =
      s(bit_op("bit_or", shift_left(high, 2), shift_right(low, 30)));  // signed, of a quadrant
  // Sign and magnitude, so that a fraction near zero on either side keeps all its bits.
  PrimExpr rest_bits = s(shift_left(low, 2));
  PrimExpr negative =
      s(lt(make_call("reinterpret", DType::kI32, {fraction}), make_int(0, DType::kI32)));
  PrimExpr carried = select(eq(rest_bits, u32(0)), u32(1), u32(0));
  auto inverted = [](const PrimExpr& value) { return bit_op("bit_xor", value, u32(0xffffffff)); };
  PrimExpr whole = s(select(negative, inverted(fraction) + carried, fraction));
  PrimExpr tail = s(select(negative, inverted(rest_bits) + u32(1), rest_bits));
  PrimExpr sign = s(select(negative, f32(-1), f32(1)));
  // Its upper 24 bits and the remainder.
  PrimExpr upper = s(cast(DType::kF32, bit_and(whole, 0xffffff00)) * sign);
  PrimExpr lower =
      s(fma(cast(DType::kF32, tail), f32(0x1p-32), cast(DType::kF32, bit_and(whole, 255))) * sign);
  Pair part = fast_sum(s, upper, lower);
  constexpr double kScale = 0x1p-32;
  Pair angle = exact_product(s, part.high, f32(kHalfPi * kScale));
  PrimExpr rest =
      fma(part.low, f32(kHalfPi * kScale), fma(part.high, f32(kHalfPiLow * kScale), angle.low));
  return {n, {s(select(small, a, angle.high)), s(select(small, f32(0), rest))}};
}

Pair sine(Steps& s, const Pair& r, const PrimExpr& z) {
  PrimExpr series = horner(z, {-0.166666672, 0.00833337288, -0.000198502952, 2.80435688e-06});
  return fast_sum(s, r.high, s(fma(r.high * z, series, r.low)));
}

Pair cosine(Steps& s, const Pair& r, const PrimExpr& z) {
  PrimExpr series = horner(z, {0.0416666679, -0.00138889742, 2.48197321e-05, -2.86607474e-07});
  PrimExpr half = s(product(z, f32(0.5)));
  PrimExpr w = s(minus(f32(1), half));
  PrimExpr error = minus(minus(f32(1), w), half);
  PrimExpr square_error = fma(r.high, r.high, negated(z));
  PrimExpr low = fma(r.high, r.low, square_error * f32(0.5));
  return fast_sum(s, w, s(fma(z * z, series, error - low)));
}

PrimExpr sin_or_cos(const PrimExpr& x, int shift) {
  Steps s;
  PrimExpr a = s(absolute(x));
  Quadrant q = reduce(s, a);
  PrimExpr z = s(product(q.angle.high, q.angle.high));
  PrimExpr n = s(q.n + u32(shift));
  PrimExpr value =
      s(select(eq(bit_and(n, 1), u32(0)), sine(s, q.angle, z).high, cosine(s, q.angle, z).high));
  PrimExpr flip = make_call("reinterpret", DType::kI32, {shift_left(bit_and(n, 2), 30)});
  value = s(as_float(bit_op("bit_xor", as_bits(value), flip)));
  if (shift == 0) value = with_sign_of(value, x);
  return s.finish(select(lt(a, f32(kInf)), value, f32(kNan)));
}

// The arc sine of a in [0, 1]: with u = a below 1/2 and sqrt((1 - a) / 2) above, u + low + u p.
struct ArcSine {
  PrimExpr large, u, rest;
};

ArcSine arc_sine(Steps& s, const PrimExpr& a) {
  PrimExpr large = s(lt(f32(0.5), a));
  PrimExpr z = s(select(large, (f32(1) - a) * f32(0.5), a * a));
  PrimExpr u = s(select(large, root(z), a));
  PrimExpr error = fdiv(fma(negated(u), u, z), u + u);
  PrimExpr low = s(select(logical_and(large, lt(f32(0), u)), error, f32(0)));
  PrimExpr series = z * horner(z, {0.166666597, 0.0750051513, 0.0445154309, 0.0318174586,
                                   0.0144094061, 0.0375497714});
  return {large, u, s(fma(u, series, low))};
}

}  // namespace

PrimExpr sin(const PrimExpr& x) { return sin_or_cos(x, 0); }
PrimExpr cos(const PrimExpr& x) { return sin_or_cos(x, 1); }

PrimExpr tan(const PrimExpr& x) {
  Steps s;
  PrimExpr a = s(absolute(x));
  Quadrant q = reduce(s, a);
  PrimExpr z = s(product(q.angle.high, q.angle.high));
  PrimExpr odd = s(eq(bit_and(q.n, 1), u32(1)));
  Pair sin = sine(s, q.angle, z), cos = cosine(s, q.angle, z);
  auto choose = [&](const PrimExpr& yes, const PrimExpr& no) { return s(select(odd, yes, no)); };
  Pair above = {choose(negated(cos.high), sin.high), choose(negated(cos.low), sin.low)};
  Pair below = {choose(sin.high, cos.high), choose(sin.low, cos.low)};
  // One step of Newton's division with both errors.
  PrimExpr inverse = s(fdiv(f32(1), below.high));
  PrimExpr quotient = s(product(above.high, inverse));
  PrimExpr error = fma(negated(quotient), below.low, above.low);
  error = error + fma(negated(quotient), below.high, above.high);
  PrimExpr value = s(fma(error, inverse, quotient));
  return s.finish(select(lt(a, f32(kInf)), with_sign_of(value, x), f32(kNan)));
}

PrimExpr asin(const PrimExpr& x) {
  Steps s;
  ArcSine p = arc_sine(s, s(absolute(x)));
  PrimExpr large = minus(f32(kHalfPi), p.u + p.u) + (f32(kHalfPiLow) - (p.rest + p.rest));
  return s.finish(with_sign_of(select(p.large, large, sum(p.u, p.rest)), x));
}

PrimExpr acos(const PrimExpr& x) {
  Steps s;
  ArcSine p = arc_sine(s, s(absolute(x)));
  PrimExpr negative = s(lt(x, f32(0)));
  PrimExpr rest = s(p.rest);
  PrimExpr near_one = sum(p.u, rest) * f32(2);
  PrimExpr near_minus_one = minus(f32(kHalfPi), sum(p.u, rest - f32(kHalfPiLow))) * f32(2);
  PrimExpr u = s(select(negative, negated(p.u), p.u));
  PrimExpr signed_rest = s(select(negative, negated(rest), rest));
  PrimExpr middle = minus(f32(kHalfPi), sum(u, signed_rest - f32(kHalfPiLow)));
  return s.finish(select(p.large, select(negative, near_minus_one, near_one), middle));
}

PrimExpr atan(const PrimExpr& x) {
  Steps s;
  PrimExpr a = s(absolute(x));
  PrimExpr large = s(lt(f32(1), a));
  PrimExpr t = s(select(large, fdiv(f32(1), a), a));
  PrimExpr z = s(t * t);
  PrimExpr series =
      z * horner(z, {-0.333332956, 0.199984536, -0.14263308, 0.109475791, -0.0839061067,
                     0.0577461869, -0.0309740175, 0.0108082248, -0.00177041674});
  PrimExpr value = s(fma(t, series, t));
  PrimExpr beyond = minus(f32(kHalfPi), value - f32(kHalfPiLow));
  return s.finish(with_sign_of(select(large, beyond, value), x));
}

}  // namespace tapml::passes::math
