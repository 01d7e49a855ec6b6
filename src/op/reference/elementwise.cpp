// References of elementwise operators.
#include <algorithm>

#include "op/reference/helpers.h"

namespace tapml::op::reference {

namespace {

// f gives the value at x; error gives the bound from the input's bound e and own rounding, both in
// the compute type of round-off u.
template <class Value, class Error>
void map(Args args, Outputs outputs, Value&& value, Error&& error) {
  const RefTensor& x = *args[0].tensor;
  double u = compute_unit(x.dtype);
  for (size_t i = 0; i < x.values.size(); ++i) {
    double y = value(x.values[i]);
    put(outputs[0], i, y, error(x.values[i], x.bound[i], y, u));
  }
}

// Largest change of a monotonic f when x moves by e.
template <class Value>
double spread(Value&& f, double x, double e, double y) {
  if (e == 0) return 0;
  return std::max(std::fabs(f(x + e) - y), std::fabs(f(x - e) - y));
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// What sin and cos may add to their results: a few ULP of 1, and what argument reduction loses.
double trigonometric_error(double x, double u) { return 4 * u + 0x1p-12 * u * std::fabs(x); }

}  // namespace

void negative(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  for (size_t i = 0; i < x.values.size(); ++i) {
    put_exact(outputs[0], i, -x.values[i], x.bound[i]);
  }
}

void exp(const AttrMap&, Args args, Outputs outputs) {
  auto f = [](double x) { return std::exp(x); };
  map(args, outputs, f, [&](double x, double e, double y, double u) {
    return spread(f, x, e, y) + scaled(y, kMathFactor * u);
  });
}

void sqrt(const AttrMap&, Args args, Outputs outputs) {
  auto f = [](double x) { return std::sqrt(x); };
  map(args, outputs, f, [&](double x, double e, double y, double u) {
    double below = y - f(std::max(x - e, 0.0)), above = f(x + e) - y;
    return std::max(below, above) + scaled(y, kMathFactor * u);
  });
}

void rsqrt(const AttrMap&, Args args, Outputs outputs) {
  auto f = [](double x) { return 1 / std::sqrt(x); };
  map(args, outputs, f, [&](double x, double e, double y, double u) {
    if (e > 0 && x <= e) return kInfinity;
    return spread(f, x, e, y) + scaled(y, kMathFactor * u);
  });
}

// exp(-x) may overflow to infinity or, past 2^126, have a quotient that is flushed to zero.
void sigmoid(const AttrMap&, Args args, Outputs outputs) {
  map(args, outputs, logistic, [](double x, double e, double y, double u) {
    return spread(logistic, x, e, y) + 2 * kMathFactor * u * y + 0x1p-125;
  });
}

void silu(const AttrMap&, Args args, Outputs outputs) {
  auto f = [](double x) { return x * logistic(x); };
  map(args, outputs, f, [](double x, double e, double y, double u) {
    double s = logistic(x);
    double slope = std::fabs(s * (1 + x * (1 - s)));
    // The second derivative of silu stays below 1/2.
    double moved = e == 0 ? 0 : slope * e + e * e / 4;
    return moved + scaled(y, 2 * kMathFactor * u) + std::fabs(x) * 0x1p-125;
  });
}

void tanh(const AttrMap&, Args args, Outputs outputs) {
  auto f = [](double x) { return std::tanh(x); };
  map(args, outputs, f, [&](double x, double e, double y, double u) {
    return spread(f, x, e, y) + kMathFactor * u * std::fabs(y);
  });
}

void sin(const AttrMap&, Args args, Outputs outputs) {
  auto f = [](double x) { return std::sin(x); };
  map(args, outputs, f, [](double x, double e, double, double u) {
    return std::min(e, 2.0) + std::min(trigonometric_error(x, u), kMathFactor * u * std::fabs(x));
  });
}

void cos(const AttrMap&, Args args, Outputs outputs) {
  auto f = [](double x) { return std::cos(x); };
  map(args, outputs, f, [](double x, double e, double, double u) {
    return std::min(e, 2.0) + trigonometric_error(x, u);
  });
}

void cast(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  RefTensor& out = outputs[0];
  for (size_t i = 0; i < x.values.size(); ++i) {
    double value = x.values[i], e = x.bound[i];
    if (out.dtype == DType::kBool) {
      bool unsure = e > 0 && std::fabs(value) <= e;
      put_exact(out, i, value != 0 ? 1 : 0, unsure ? 1 : 0);
    } else if (is_float(out.dtype)) {
      is_float(x.dtype) ? put_moved(out, i, x, i) : put(out, i, value, e);
    } else {
      double whole = std::trunc(value);
      double bound = e == 0 ? 0
                            : std::max(std::fabs(std::trunc(value + e) - whole),
                                       std::fabs(std::trunc(value - e) - whole));
      put_exact(out, i, std::isnan(value) ? 0 : whole, std::isnan(value) ? kInfinity : bound);
    }
  }
}

namespace {

// f(a, ea, b, eb, u, error) returns the value and sets the error.
template <class F>
void zip(Args args, Outputs outputs, F&& f) {
  const RefTensor &a = *args[0].tensor, &b = *args[1].tensor;
  RefTensor& out = outputs[0];
  double u = std::min(compute_unit(a.dtype), compute_unit(b.dtype));
  std::vector<size_t> b_offsets(out.values.size());
  walk(out.shape, broadcast_strides(b.shape, out.shape), 0,
       [&](size_t i, size_t j) { b_offsets[i] = j; });
  walk(out.shape, broadcast_strides(a.shape, out.shape), 0, [&](size_t i, size_t j) {
    size_t k = b_offsets[i];
    double error = 0;
    double value = f(a.values[j], a.bound[j], b.values[k], b.bound[k], u, error);
    if (out.dtype == DType::kBool) {
      put_exact(out, i, value, error);
    } else {
      put(out, i, value, error);
    }
  });
}

// Comparisons are unsure where the operands' bounds overlap.
template <class F>
void compare(Args args, Outputs outputs, F&& f) {
  zip(args, outputs, [&](double a, double ea, double b, double eb, double, double& error) {
    error = ea + eb > 0 && std::fabs(a - b) <= ea + eb ? 1 : 0;
    return f(a, b) ? 1.0 : 0.0;
  });
}

template <class F>
void extremum(Args args, Outputs outputs, F&& f) {
  zip(args, outputs, [&](double a, double ea, double b, double eb, double, double& error) {
    error = std::max(ea, eb);
    if (std::isnan(a) || std::isnan(b)) error = kInfinity;
    return f(a, b);
  });
}

}  // namespace

void add(const AttrMap&, Args args, Outputs outputs) {
  zip(args, outputs, [](double a, double ea, double b, double eb, double u, double& error) {
    error = ea + eb + scaled(a + b, kRoundFactor * u);
    return a + b;
  });
}

void subtract(const AttrMap&, Args args, Outputs outputs) {
  zip(args, outputs, [](double a, double ea, double b, double eb, double u, double& error) {
    error = ea + eb + scaled(a - b, kRoundFactor * u);
    return a - b;
  });
}

void multiply(const AttrMap&, Args args, Outputs outputs) {
  zip(args, outputs, [](double a, double ea, double b, double eb, double u, double& error) {
    error = scaled(a, eb) + scaled(b, ea) + ea * eb + scaled(a * b, kRoundFactor * u);
    return a * b;
  });
}

void divide(const AttrMap&, Args args, Outputs outputs) {
  zip(args, outputs, [](double a, double ea, double b, double eb, double u, double& error) {
    double y = a / b;
    if (eb > 0 && std::fabs(b) <= eb) {
      error = kInfinity;
    } else {
      double moved =
          eb == 0 ? ea / std::fabs(b) : (std::fabs(a) + ea) / (std::fabs(b) - eb) - std::fabs(y);
      error = moved + scaled(y, kMathFactor * u);
    }
    return y;
  });
}

void maximum(const AttrMap&, Args args, Outputs outputs) {
  extremum(args, outputs, [](double a, double b) { return std::max(a, b); });
}

void minimum(const AttrMap&, Args args, Outputs outputs) {
  extremum(args, outputs, [](double a, double b) { return std::min(a, b); });
}

void greater(const AttrMap&, Args args, Outputs outputs) {
  compare(args, outputs, [](double a, double b) { return a > b; });
}

void less(const AttrMap&, Args args, Outputs outputs) {
  compare(args, outputs, [](double a, double b) { return a < b; });
}

void equal(const AttrMap&, Args args, Outputs outputs) {
  compare(args, outputs, [](double a, double b) { return a == b; });
}

void where(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor &condition = *args[0].tensor, &a = *args[1].tensor, &b = *args[2].tensor;
  RefTensor& out = outputs[0];
  std::vector<size_t> a_offsets(out.values.size()), b_offsets(out.values.size());
  walk(out.shape, broadcast_strides(a.shape, out.shape), 0,
       [&](size_t i, size_t j) { a_offsets[i] = j; });
  walk(out.shape, broadcast_strides(b.shape, out.shape), 0,
       [&](size_t i, size_t j) { b_offsets[i] = j; });
  walk(out.shape, broadcast_strides(condition.shape, out.shape), 0, [&](size_t i, size_t c) {
    size_t j = a_offsets[i], k = b_offsets[i];
    bool first = condition.values[c] != 0;
    double value = first ? a.values[j] : b.values[k];
    double bound = first ? a.bound[j] : b.bound[k];
    if (condition.bound[c] > 0) {
      bound = std::max(a.bound[j], b.bound[k]) + std::fabs(a.values[j] - b.values[k]);
    }
    put_exact(out, i, value, bound);
  });
}

}  // namespace tapml::op::reference
