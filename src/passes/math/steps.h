// Builds portable math: f32 arithmetic as scalar expressions, one named step after the other.
// Private to passes/math.
//
// A platform may contract products and sums of `+` and `*` to a fused multiply-add. Where an error
// term is computed from such a result, use `product` and `sum` instead: every platform rounds them
// separately.
#pragma once

#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ir/expr.h"

namespace tapml::passes::math {

// Values that are computed once, in order; `finish` binds them around the result.
class Steps {
 public:
  PrimExpr operator()(PrimExpr value) {
    Var var = make_var("m" + std::to_string(steps_.size()), value.dtype());
    steps_.emplace_back(var, std::move(value));
    return var;
  }
  PrimExpr finish(PrimExpr result) const {
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      result = let(step->first, step->second, result);
    }
    return result;
  }

 private:
  std::vector<std::pair<Var, PrimExpr>> steps_;
};

// A number as an unevaluated sum; |low| is at most half a unit in the last place of high.
struct Pair {
  PrimExpr high, low;
};

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

inline PrimExpr f32(double value) { return make_float(static_cast<float>(value), DType::kF32); }
inline PrimExpr i32(int64_t value) { return make_int(value, DType::kI32); }
inline PrimExpr u32(int64_t value) { return make_int(value, DType::kU32); }
inline PrimExpr call(const char* name, PrimExpr x) {
  DType dtype = x.dtype();
  return make_call(name, dtype, {std::move(x)});
}
inline PrimExpr fma(PrimExpr a, PrimExpr b, PrimExpr c) {
  return make_call("fma", DType::kF32, {std::move(a), std::move(b), std::move(c)});
}
inline PrimExpr product(PrimExpr a, PrimExpr b) {
  return fma(std::move(a), std::move(b), f32(-0.0));
}
inline PrimExpr sum(PrimExpr a, PrimExpr b) { return fma(std::move(a), f32(1), std::move(b)); }
inline PrimExpr minus(PrimExpr a, PrimExpr b) { return fma(std::move(b), f32(-1), std::move(a)); }
inline PrimExpr negated(PrimExpr a) { return a * f32(-1); }
inline PrimExpr absolute(PrimExpr x) { return call("abs", std::move(x)); }
inline PrimExpr root(PrimExpr x) { return call("sqrt", std::move(x)); }
inline PrimExpr is_nan(PrimExpr x) { return make_call("isnan", DType::kBool, {std::move(x)}); }

inline PrimExpr as_bits(PrimExpr x) {
  return make_call("reinterpret", DType::kI32, {std::move(x)});
}
inline PrimExpr as_float(PrimExpr x) {
  return make_call("reinterpret", DType::kF32, {std::move(x)});
}
inline PrimExpr bit_op(const char* name, PrimExpr a, PrimExpr b) {
  DType dtype = a.dtype();
  return make_call(name, dtype, {std::move(a), std::move(b)});
}
inline PrimExpr shift_left(PrimExpr a, int n) {
  DType dtype = a.dtype();
  return bit_op("shift_left", std::move(a), make_int(n, dtype));
}
inline PrimExpr shift_right(PrimExpr a, int n) {
  DType dtype = a.dtype();
  return bit_op("shift_right", std::move(a), make_int(n, dtype));
}
inline PrimExpr bit_and(PrimExpr a, int64_t mask) {
  DType dtype = a.dtype();
  return bit_op("bit_and", std::move(a), make_int(mask, dtype));
}

// 2^n for -126 <= n <= 127.
inline PrimExpr power_of_two(PrimExpr n) {
  return as_float(shift_left(std::move(n) + i32(127), 23));
}
// `magnitude` with its sign flipped where x is negative (-0 included).
inline PrimExpr with_sign_of(PrimExpr magnitude, PrimExpr x) {
  PrimExpr sign = bit_and(as_bits(std::move(x)), INT32_MIN);
  return as_float(bit_op("bit_xor", as_bits(std::move(magnitude)), sign));
}
// Propagate NaN, unlike min and max of platforms; one instruction where the hardware compares this
// way.
inline PrimExpr at_least(PrimExpr x, double low) { return select(lt(x, f32(low)), f32(low), x); }
inline PrimExpr at_most(PrimExpr x, double high) { return select(lt(f32(high), x), f32(high), x); }

// c[0] + x*(c[1] + x*(...)), by fused multiply-adds.
inline PrimExpr horner(const PrimExpr& x, std::initializer_list<double> coefficients) {
  PrimExpr sum;
  for (auto c = std::rbegin(coefficients); c != std::rend(coefficients); ++c) {
    sum = sum ? fma(sum, x, f32(*c)) : f32(*c);
  }
  return sum;
}

// a + b with its error, for |a| >= |b| or a = 0.
inline Pair fast_sum(Steps& s, const PrimExpr& a, const PrimExpr& b) {
  PrimExpr high = s(sum(a, b));
  return {high, s(minus(b, minus(high, a)))};
}
// a * b with its error.
inline Pair exact_product(Steps& s, const PrimExpr& a, const PrimExpr& b) {
  PrimExpr high = s(product(a, b));
  return {high, s(fma(a, b, negated(high)))};
}

}  // namespace tapml::passes::math
