// Helpers that apply the references of elementwise operators to their operands.
#pragma once

#include <algorithm>

#include "op/dtypes.h"
#include "op/reference/helpers.h"

namespace tapml::op::reference {

// The type of rules, for their declarations.
using Rule = void(const AttrMap& attrs, Args args, Outputs outputs);

// Round-off of the type in which a function of real numbers is computed.
inline double real_unit(DType dtype) { return compute_unit(real_dtype(dtype)); }

// The bound of an element after conversion to the dtype `real`, which may round integers.
double real_bound(const RefTensor& x, size_t i, DType real);

// A function of one real number.
struct RealFunction {
  double (*value)(double x);
  // The error that a correct implementation adds to a result y at x, with round-off u.
  double (*own)(double x, double y, double u);
  // How far the result moves if x moves by e > 0. If null, the function is continuous and monotonic
  // between its turning points `turns`.
  double (*moved)(double x, double e, double y) = nullptr;
  std::vector<double> turns;
};

inline double four_ulp(double, double y, double u) { return scaled(y, kMathFactor * u); }
inline double one_ulp(double, double y, double u) { return scaled(y, kRoundFactor * u); }
inline double two_ulp(double, double y, double u) { return scaled(y, 2 * kRoundFactor * u); }
inline double exactly(double, double, double) { return 0; }

void map_real(Args args, Outputs outputs, const RealFunction& function);
// For monotonic functions with errors up to four ULP.
inline void map_monotonic(Args args, Outputs outputs, double (*value)(double)) {
  map_real(args, outputs, {value, four_ulp});
}

// f(a, b) on integers of up to 64 bits, wrapped. If an operand is inexact, any value is possible,
// unless `moved` (may be null) bounds the change of the result.
using IntegerFunction = int64_t (*)(int64_t a, int64_t b, DType dtype);
using IntegerBound = double (*)(double a, double ea, double b, double eb);
void zip_integers(Args args, Outputs outputs, IntegerFunction f, IntegerBound moved = nullptr);
// The same for one operand.
void map_integers(Args args, Outputs outputs, int64_t (*f)(int64_t x, DType dtype));

// Calls f(i, j, k), where output element i is computed from element j of args[0] and k of args[1].
template <class F>
void walk_pairs(Args args, const RefTensor& out, F&& f) {
  std::vector<size_t> second(out.values.size());
  walk(out.shape, broadcast_strides(args[1].tensor->shape, out.shape), 0,
       [&](size_t i, size_t k) { second[i] = k; });
  walk(out.shape, broadcast_strides(args[0].tensor->shape, out.shape), 0,
       [&](size_t i, size_t j) { f(i, j, second[i]); });
}

// Whether a result moves much more over the whole error of its operands than along a line through
// their standard deviations: it jumps, or is steep, somewhere in between. No part of such an error
// is random.
inline bool is_jump(double error, double systematic, double random) {
  return error > 2 * (systematic + kTails * random);
}

// f(a, ea, b, eb, u, error) returns the value and sets the error.
template <class F>
void zip_real(Args args, Outputs outputs, F&& f) {
  const RefTensor &a = *args[0].tensor, &b = *args[1].tensor;
  RefTensor& out = outputs[0];
  double u = real_unit(out.dtype);
  if (is_float(a.dtype)) u = std::min(real_unit(a.dtype), real_unit(b.dtype));
  const bool exact = a.deviation.empty() && b.deviation.empty();
  walk_pairs(args, out, [&](size_t i, size_t j, size_t k) {
    auto error_for = [&](double ea, double eb) {
      double error = 0;
      f(a.values[j], ea, b.values[k], eb, u, error);
      return error;
    };
    const double x = a.values[j], y = b.values[k];
    const double ex = real_bound(a, j, out.dtype), ey = real_bound(b, k, out.dtype);
    double error = 0;
    const double value = f(x, ex, y, ey, u, error);
    // Of exact operands, a NaN or an infinity is certain; so is one NaN, whatever the other one is.
    const bool certain =
        (ex == 0 && ey == 0) || (ex == 0 && std::isnan(x)) || (ey == 0 && std::isnan(y));
    if (certain && (std::isnan(value) || (std::isinf(value) && ex == 0 && ey == 0))) {
      return put_exact(out, i, value, 0.0);
    }
    if (exact || !std::isfinite(error)) return put(out, i, value, error);
    const double own = error_for(0, 0);
    const double by_a = error_for(a.deviation[j], 0) - own;
    const double by_b = error_for(0, b.deviation[k]) - own;
    const double together = &a == &b ? by_a + by_b : std::hypot(by_a, by_b);
    const double systematic = error_for(a.systematic_at(j), b.systematic_at(k));
    if (is_jump(error, systematic, together)) return put(out, i, value, error);
    put(out, i, value, {error, systematic, together * together});
  });
}

// Whether an element is not 0 (NaN is not 0), and whether that is uncertain.
struct Truth {
  bool value, unsure;
  Truth(const RefTensor& x, size_t i)
      : value(x.values[i] != 0), unsure(x.bound[i] > 0 && !(std::fabs(x.values[i]) > x.bound[i])) {}
};

// Whether the value of element i is uncertain.
inline bool is_unsure(const RefTensor& x, size_t i) { return x.bound[i] > 0; }

}  // namespace tapml::op::reference
