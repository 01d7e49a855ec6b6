// log, functions based on it, and pow.
#include <cmath>

#include "passes/math/functions.h"
#include "passes/math/steps.h"

namespace tapml::passes::math {

namespace {

constexpr int64_t kRootHalf = 0x3f3504f3;  // bits of sqrt(1/2)

// x = 2^k m with sqrt(1/2) <= m < sqrt(2).
struct Split {
  PrimExpr k, m;  // i32, f32
};

Split split(Steps& s, const PrimExpr& x) {
  PrimExpr offset = s(as_bits(x) - i32(kRootHalf));
  return {s(shift_right(offset, 23)), s(as_float(bit_and(offset, 0x007fffff) + i32(kRootHalf)))};
}

// Handles denormals too.
Split split_any(Steps& s, const PrimExpr& x) {
  PrimExpr tiny = s(lt(x, f32(1.17549435e-38)));
  Split parts = split(s, s(select(tiny, x * f32(33554432), x)));
  return {s(parts.k - select(tiny, i32(25), i32(0))), parts.m};
}

// log(x + low) = k ln2 + f + rest, with f exact.
struct LogParts {
  PrimExpr k, f, rest;
};

LogParts log_parts(Steps& s, const Split& parts, const PrimExpr& low = {}) {
  PrimExpr f = s(parts.m - f32(1));
  PrimExpr z = s(f * f);
  PrimExpr series = horner(f, {0.333333105, -0.250000149, 0.200022265, -0.166677266, 0.14217563,
                               -0.124097466, 0.119054131, -0.116551459, 0.0668415576});
  PrimExpr rest = s(fma(f * z, series, z * f32(-0.5)));
  if (low) {
    PrimExpr scaled = s(low * power_of_two(i32(0) - min(parts.k, i32(126))));
    rest = s(rest + fma(negated(f), scaled, scaled));
  }
  return {s(cast(DType::kF32, parts.k)), f, rest};
}

// The product of k and the first part of ln2 is exact.
PrimExpr natural(const LogParts& p) {
  PrimExpr low = fma(p.k, f32(-2.90889711e-05), p.rest);
  return fma(p.k, f32(0.69317627), p.f + low);
}

// `value` where x is positive and finite, else the special cases.
PrimExpr in_domain(const PrimExpr& x, PrimExpr value) {
  PrimExpr outside = select(eq(x, f32(0)), f32(-kInf), select(lt(x, f32(0)), f32(kNan), x));
  return select(logical_and(lt(f32(0), x), lt(x, f32(kInf))), std::move(value), outside);
}

// The square root of w.high + w.low.
Pair pair_root(Steps& s, const Pair& w) {
  PrimExpr high = s(root(w.high));
  PrimExpr error = fma(negated(high), high, w.high) + w.low;
  PrimExpr zero = eq(high, f32(0));
  return {high, s(select(zero, f32(0), fdiv(error, high + high)))};
}

// log(a + r) for a >= |r|, if a is below `limit`; log(2a) above, where r equals a to the last
// place.
PrimExpr log_of_sum(Steps& s, const PrimExpr& a, const Pair& r, double limit, bool root_first) {
  Pair total = root_first ? fast_sum(s, r.high, a) : fast_sum(s, a, r.high);
  PrimExpr large = s(lt(f32(limit), a));
  PrimExpr low = s(select(large, f32(0), total.low + r.low));
  Split parts = split(s, s(select(large, a, total.high)));
  PrimExpr k = s(parts.k + select(large, i32(1), i32(0)));
  LogParts p = log_parts(s, parts, low);
  return natural({s(cast(DType::kF32, k)), p.f, p.rest});
}

}  // namespace

PrimExpr log(const PrimExpr& x) {
  Steps s;
  return s.finish(in_domain(x, natural(log_parts(s, split_any(s, x)))));
}

PrimExpr log2(const PrimExpr& x) {
  Steps s;
  LogParts p = log_parts(s, split_any(s, x));
  PrimExpr low = fma(p.f, f32(1.92596303e-08), p.rest * f32(1.44269502));
  return s.finish(in_domain(x, p.k + fma(p.f, f32(1.44269502), low)));
}

PrimExpr log10(const PrimExpr& x) {
  Steps s;
  LogParts p = log_parts(s, split_any(s, x));
  PrimExpr low = fma(p.f, f32(-1.010305e-08), p.rest * f32(0.434294492));
  low = fma(p.f, f32(0.434294492), fma(p.k, f32(4.60503907e-06), low));
  return s.finish(in_domain(x, fma(p.k, f32(0.301025391), low)));
}

// log(a + sqrt(a^2 + 1)).
PrimExpr asinh(const PrimExpr& x) {
  Steps s;
  PrimExpr a = s(absolute(x)), z = s(x * x);
  PrimExpr series = horner(z, {-0.166666642, 0.0749963894, -0.044473581, 0.027164707});
  PrimExpr small = s(fma(a * z, series, a));
  PrimExpr square = s(fma(a, a, f32(1)));
  Pair r = pair_root(s, {square, s(fma(a, a, negated(minus(square, f32(1)))))});
  PrimExpr large = log_of_sum(s, a, r, 4096, true);
  PrimExpr value = select(lt(a, f32(0.25)), small, select(lt(a, f32(kInf)), large, a));
  return s.finish(with_sign_of(value, x));
}

// log(x + sqrt((x - 1)(x + 1))).
PrimExpr acosh(const PrimExpr& x) {
  Steps s;
  PrimExpr t = s(x - f32(1));
  PrimExpr twice = s(t + t);
  PrimExpr square = s(fma(t, t, twice));
  Pair r = pair_root(s, {square, s(fma(t, t, minus(twice, square)))});
  PrimExpr value = log_of_sum(s, x, r, 4096, false);
  PrimExpr outside = select(lt(x, f32(1)), f32(kNan), x);
  return s.finish(select(logical_and(le(f32(1), x), lt(x, f32(kInf))), value, outside));
}

// Half of log((1 + a) / (1 - a)).
PrimExpr atanh(const PrimExpr& x) {
  Steps s;
  PrimExpr a = s(absolute(x)), z = s(x * x);
  PrimExpr series = horner(z, {0.333333343, 0.199998513, 0.14293541, 0.1092434, 0.111282535});
  PrimExpr small = s(fma(a * z, series, a));
  Pair above = fast_sum(s, f32(1), a), below = fast_sum(s, f32(1), s(negated(a)));
  PrimExpr quotient = s(fdiv(above.high, below.high));
  PrimExpr error = fma(negated(quotient), below.high, above.high);
  error = fma(negated(quotient), below.low, error + above.low);
  PrimExpr low = s(fdiv(error, below.high));
  PrimExpr large = natural(log_parts(s, split(s, quotient), low)) * f32(0.5);
  PrimExpr edge = select(eq(a, f32(1)), f32(kInf), f32(kNan));
  PrimExpr value = select(lt(a, f32(0.25)), small, select(lt(a, f32(1)), large, edge));
  return s.finish(with_sign_of(value, x));
}

namespace {

// log2 of a positive finite number with relative error of about 2^-35: the series of the inverse
// hyperbolic tangent in s = (m - 1) / (m + 1), with its first terms as pairs.
Pair exact_log2(Steps& s, const PrimExpr& a) {
  Split parts = split_any(s, a);
  PrimExpr f = s(parts.m - f32(1));
  Pair divisor = fast_sum(s, f32(2), f);
  PrimExpr q = s(fdiv(f, divisor.high));
  PrimExpr error = fma(negated(q), divisor.high, f);
  PrimExpr ql = s(fdiv(fma(negated(q), divisor.low, error), divisor.high));
  // c = 1/3 + z (1/5 + ...), series = z c
  Pair z = exact_product(s, q, q);
  PrimExpr zl = s(fma(q + q, ql, z.low));
  PrimExpr tail = s(z.high * horner(z.high, {0.200000793, 0.142732859, 0.117152825}));
  Pair c = fast_sum(s, f32(0.333333343), tail);
  PrimExpr cl = s(c.low + f32(-9.93410776e-09));
  Pair series = exact_product(s, z.high, c.high);
  PrimExpr series_low = s(fma(z.high, cl, fma(zl, c.high, series.low)));
  // atanh = q + q series
  Pair more = exact_product(s, q, series.high);
  PrimExpr more_low = s(fma(q, series_low, fma(ql, series.high, more.low)));
  Pair total = fast_sum(s, q, more.high);
  PrimExpr total_low = s(total.low + (more_low + ql));
  // times 2 / ln2, plus k
  Pair scaled = exact_product(s, total.high, f32(2.88539004));
  PrimExpr scaled_low =
      s(fma(total.high, f32(3.85192607e-08), fma(total_low, f32(2.88539004), scaled.low)));
  Pair result = fast_sum(s, s(cast(DType::kF32, parts.k)), scaled.high);
  return fast_sum(s, result.high, s(result.low + scaled_low));
}

// 2^(high + low); 0 or infinity for high out of range.
PrimExpr exp2_of(Steps& s, const Pair& x) {
  constexpr double kMagic = 12582912;
  PrimExpr t = s(sum(x.high, f32(kMagic)));
  PrimExpr n = s(as_bits(t) - as_bits(f32(kMagic)));
  PrimExpr r = s(minus(x.high, minus(t, f32(kMagic))) + x.low);
  PrimExpr tail = horner(r, {0.693147182, 0.240226507, 0.055504065, 0.00961807743, 0.00133364333,
                             0.000154563575, 1.46995972e-05});
  PrimExpr value = s(fma(r, tail, f32(1)));
  PrimExpr half = s(shift_right(n, 1));
  return value * power_of_two(half) * power_of_two(n - half);
}

}  // namespace

// 2^(y log2 |x|), with its sign given by the parity of y; then the special cases of C99.
PrimExpr pow(const PrimExpr& x, const PrimExpr& y) {
  Steps s;
  PrimExpr a = s(absolute(x));
  Pair l = exact_log2(s, a);
  PrimExpr high = s(product(y, l.high));
  PrimExpr low = fma(y, l.low, fma(y, l.high, negated(high)));
  PrimExpr beyond = s(lt(f32(200), absolute(high)));
  PrimExpr clamped = s(at_most(at_least(high, -200), 200));
  PrimExpr power = exp2_of(s, {clamped, s(select(beyond, f32(0), low))});
  PrimExpr extreme = select(eq(lt(f32(0), y), eq(a, f32(kInf))), f32(kInf), f32(0));
  PrimExpr edge = s(logical_or(eq(a, f32(0)), eq(a, f32(kInf))));
  PrimExpr magnitude = s(select(edge, extreme, select(eq(a, f32(1)), f32(1), power)));
  PrimExpr whole = s(eq(call("trunc", y), y));
  PrimExpr half = s(y * f32(0.5));
  PrimExpr odd = s(logical_and(whole, ne(call("trunc", half), half)));
  PrimExpr invalid = logical_and(logical_and(lt(x, f32(0)), logical_not(edge)), logical_not(whole));
  PrimExpr signed_value = select(odd, with_sign_of(magnitude, x), magnitude);
  PrimExpr value = s(select(invalid, f32(kNan), signed_value));
  PrimExpr nan = logical_or(is_nan(x), is_nan(y));
  PrimExpr one = logical_or(eq(x, f32(1)), eq(y, f32(0)));
  return s.finish(select(one, f32(1), select(nan, f32(kNan), value)));
}

}  // namespace tapml::passes::math
