// exp and functions based on it.
#include <cmath>

#include "passes/math/functions.h"
#include "passes/math/steps.h"

namespace tapml::passes::math {

namespace {

// Adding it leaves the nearest integer in the low bits.
constexpr double kMagic = 12582912;  // 1.5 * 2^23

struct Scaled {
  PrimExpr value, exponent;  // value * 2^exponent, exponent an i32
};

// The nearest integer to `near` (a multiple of x), as a float and as bits.
std::pair<PrimExpr, PrimExpr> nearest(Steps& s, const PrimExpr& shifted) {
  PrimExpr t = s(shifted);
  return {s(minus(t, f32(kMagic))), s(as_bits(t) - as_bits(f32(kMagic)))};
}

// e^r - 1 for x = n ln2 + r with |r| <= ln2 / 2; the product of n and the first part of ln2 is
// exact.
Scaled expm1_parts(Steps& s, const PrimExpr& x) {
  auto [nf, n] = nearest(s, fma(x, f32(1.44269502), f32(kMagic)));
  PrimExpr r = s(fma(nf, f32(2.90889711e-05), fma(nf, f32(-0.69317627), x)));
  PrimExpr tail =
      horner(r, {0.5, 0.166666672, 0.0416664556, 0.00833319779, 0.0013935758, 0.000199534086});
  return {fma(s(r * r), tail, r), n};
}

Scaled exp_parts(Steps& s, const PrimExpr& x) {
  auto [less_one, n] = expm1_parts(s, x);
  return {s(f32(1) + less_one), n};
}

// In two factors, so that denormal and overflowing results come out right.
PrimExpr scale(Steps& s, const Scaled& x) {
  PrimExpr half = s(shift_right(x.exponent, 1));
  return x.value * power_of_two(half) * power_of_two(x.exponent - half);
}

// e^a / 2 for a >= 0, which overflows later than e^a.
PrimExpr half_exp(Steps& s, const PrimExpr& a) {
  Scaled parts = exp_parts(s, s(at_most(a, 90.5)));
  return s(scale(s, {parts.value, s(parts.exponent - i32(1))}));
}

}  // namespace

PrimExpr exp(const PrimExpr& x) {
  Steps s;
  return s.finish(scale(s, exp_parts(s, s(at_most(at_least(x, -105), 89.5)))));
}

PrimExpr exp2(const PrimExpr& x) {
  Steps s;
  PrimExpr clamped = s(at_most(at_least(x, -152), 130));
  auto [nf, n] = nearest(s, sum(clamped, f32(kMagic)));
  PrimExpr r = s(minus(clamped, nf));
  PrimExpr tail = horner(r, {0.693147182, 0.240226507, 0.055504065, 0.00961807743, 0.00133364333,
                             0.000154563575, 1.46995972e-05});
  return s.finish(scale(s, {s(fma(r, tail, f32(1))), n}));
}

// 2^n * p + (2^n - 1), of halves because 2^128 overflows; p itself near zero, down to the smallest
// floats.
PrimExpr expm1(const PrimExpr& x) {
  Steps s;
  auto [less_one, n] = expm1_parts(s, s(at_most(at_least(x, -20), 88.8)));
  PrimExpr p = s(less_one);
  PrimExpr power = s(power_of_two(n - i32(1)));
  PrimExpr half = s(fma(power, p, minus(power, f32(0.5))));
  return s.finish(select(eq(n, i32(0)), with_sign_of(absolute(p), x), half + half));
}

PrimExpr sinh(const PrimExpr& x) {
  Steps s;
  PrimExpr a = s(absolute(x)), z = s(x * x);
  PrimExpr series = horner(z, {0.166666672, 0.00833331607, 0.0001984142, 2.79153824e-06});
  PrimExpr small = fma(a * z, series, a);
  PrimExpr half = half_exp(s, a);
  PrimExpr large = half - fdiv(f32(0.25), half);
  return s.finish(with_sign_of(select(lt(a, f32(1)), small, large), x));
}

PrimExpr cosh(const PrimExpr& x) {
  Steps s;
  PrimExpr half = half_exp(s, s(absolute(x)));
  return s.finish(half + fdiv(f32(0.25), half));
}

// A series near zero, 1 - 2 / (e^(2a) + 1) elsewhere.
PrimExpr tanh(const PrimExpr& x) {
  Steps s;
  PrimExpr a = s(absolute(x)), z = s(x * x);
  PrimExpr series = horner(
      z, {-0.333333284, 0.133331239, -0.0539373234, 0.0216523111, -0.00806368887, 0.00204313197});
  PrimExpr small = fma(a * z, series, a);
  Scaled twice = exp_parts(s, s(at_most(a + a, 20)));
  PrimExpr power = s(twice.value * power_of_two(twice.exponent));
  PrimExpr large = f32(1) - fdiv(f32(2), power + f32(1));
  return s.finish(with_sign_of(select(lt(a, f32(0.65)), small, large), x));
}

// A series below 1; above, 1 - e^-g with g = -log(1 - erf), a polynomial up to where erf is 1.
PrimExpr erf(const PrimExpr& x) {
  Steps s;
  PrimExpr a = s(absolute(x)), z = s(x * x);
  PrimExpr series = horner(z, {0.128379166, -0.376126289, 0.112836182, -0.0268551242, 0.0051907259,
                               -0.000803065428, 7.91990169e-05});
  PrimExpr small = fma(a, series, a);
  PrimExpr b = s(at_most(a, 4));
  PrimExpr g = horner(b, {0.128545985, 0.635650814, 0.105215468, -0.022626942, 0.00290266192,
                          -4.02551996e-05, -4.7288213e-05, 5.06797323e-06});
  Scaled power = exp_parts(s, s(fma(negated(b), g, negated(b))));
  PrimExpr large = f32(1) - power.value * power_of_two(power.exponent);
  return s.finish(with_sign_of(select(lt(a, f32(1)), small, large), x));
}

}  // namespace tapml::passes::math
