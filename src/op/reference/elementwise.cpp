#include "op/reference/elementwise.h"

namespace tapml::op::reference {

double real_bound(const RefTensor& x, size_t i, DType real) {
  if (is_float(x.dtype) || std::fabs(x.values[i]) * unit_roundoff(real) < 0.5) return x.bound[i];
  return x.bound[i] + kRoundFactor * unit_roundoff(real) * std::fabs(x.values[i]);
}

namespace {

double reach(const RealFunction& f, double x, double e, double y) {
  if (e == 0) return 0;
  if (f.moved) return f.moved(x, e, y);
  double worst = std::max(std::fabs(f.value(x + e) - y), std::fabs(f.value(x - e) - y));
  // If one side is outside the domain, any value is possible.
  if (std::isnan(f.value(x + e)) || std::isnan(f.value(x - e))) return kInfinity;
  for (double turn : f.turns) {
    if (std::fabs(turn - x) < e) worst = std::max(worst, std::fabs(f.value(turn) - y));
  }
  return worst;
}

}  // namespace

void map_real(Args args, Outputs outputs, const RealFunction& function) {
  const RefTensor& x = *args[0].tensor;
  RefTensor& out = outputs[0];
  double u = real_unit(x.dtype);
  for (size_t i = 0; i < x.values.size(); ++i) {
    double value = x.values[i], e = real_bound(x, i, out.dtype);
    double y = function.value(value);
    // Of an exact operand, a NaN or an infinity is certain.
    if (e == 0 && !std::isfinite(y)) {
      put_exact(out, i, y, 0.0);
      continue;
    }
    const double own = function.own(value, y, u);
    const double error = reach(function, value, e, y) + own;
    if (x.deviation[i] == 0 || !std::isfinite(error)) {
      put(out, i, y, error);
      continue;
    }
    const double random = reach(function, value, x.deviation[i], y);
    const double systematic = reach(function, value, x.systematic_at(i), y) + own;
    if (is_jump(error, systematic, random)) {
      put(out, i, y, error);
      continue;
    }
    put(out, i, y, {error, systematic, random * random});
  }
}

void zip_integers(Args args, Outputs outputs, IntegerFunction f, IntegerBound moved) {
  const RefTensor &a = *args[0].tensor, &b = *args[1].tensor;
  RefTensor& out = outputs[0];
  walk_pairs(args, out, [&](size_t i, size_t j, size_t k) {
    double bound = 0;
    if (is_unsure(a, j) || is_unsure(b, k)) {
      bound = moved ? moved(a.values[j], a.bound[j], b.values[k], b.bound[k]) : kInfinity;
    }
    put_integer(out, i, f(a.integer(j), b.integer(k), out.dtype), bound);
  });
}

void map_integers(Args args, Outputs outputs, int64_t (*f)(int64_t x, DType dtype)) {
  const RefTensor& x = *args[0].tensor;
  for (size_t i = 0; i < x.values.size(); ++i) {
    put_integer(outputs[0], i, f(x.integer(i), x.dtype), is_unsure(x, i) ? kInfinity : 0);
  }
}

}  // namespace tapml::op::reference
