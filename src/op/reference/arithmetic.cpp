#include "op/reference/arithmetic.h"

namespace tapml::op::reference {

namespace {

bool is_real(Outputs outputs) { return is_float(outputs[0].dtype); }

uint64_t bits(int64_t x) { return static_cast<uint64_t>(x); }

// If both operands are integers, differences of sums are sums of differences (modulo the width,
// which matters only to exact verdicts).
double sum_of_bounds(double, double ea, double, double eb) { return ea + eb; }

bool holds_zero(double x, double e) { return std::fabs(x) <= e; }

// The range of a / b over the box of both operands, which must not contain b = 0.
struct Range {
  double low, high;
};
Range quotient_range(double a, double ea, double b, double eb) {
  Range range{kInfinity, -kInfinity};
  for (double x : {a - ea, a + ea}) {
    for (double y : {b - eb, b + eb}) {
      range.low = std::min(range.low, x / y);
      range.high = std::max(range.high, x / y);
    }
  }
  return range;
}

using Whole = double (*)(double);
double round_down(double x) { return std::floor(x); }
double toward_zero(double x) { return std::trunc(x); }

// Remainder of exact division, computed without the quotient.
double remainder(Whole whole, double a, double b) {
  double r = std::fmod(a, b);
  if (whole == round_down && r != 0 && (r < 0) != (b < 0)) r += b;
  return r;
}

// The whole part of a / b for exact operands: a minus its remainder is a multiple of b.
double whole_part(Whole whole, double a, double b) {
  if (std::isinf(b) && std::isfinite(a)) {
    return whole == round_down && a != 0 && (a < 0) != (b < 0) ? -1 : 0;
  }
  double r = remainder(whole, a, b);
  if (!std::isfinite(r)) return whole(a / b);
  return std::nearbyint((a - r) / b);
}

void whole_quotient(Args args, Outputs outputs, Whole whole) {
  zip_real(args, outputs, [&](double a, double ea, double b, double eb, double u, double& error) {
    double q = whole_part(whole, a, b);
    if (!std::isfinite(q)) return q;
    if (ea > 0 || eb > 0) {
      if (holds_zero(b, eb)) {
        error = kInfinity;
        return q;
      }
      Range range = quotient_range(a, ea, b, eb);
      error = std::max(std::fabs(whole(range.low) - q), std::fabs(whole(range.high) - q));
    }
    // Above this, neighboring floats differ by whole numbers.
    if (std::fabs(q) >= 0.25 / u) error += kMathFactor * u * std::fabs(q) + 1;
    return q;
  });
}

void remainders(Args args, Outputs outputs, Whole whole) {
  zip_real(args, outputs, [&](double a, double ea, double b, double eb, double u, double& error) {
    double r = remainder(whole, a, b);
    if (std::isnan(r)) return r;
    // The remainder is a float of the dtype; adding the divisor rounds once.
    if (whole == round_down) error = scaled(r, kRoundFactor * u);
    if (ea > 0 || eb > 0) {
      error += ea + scaled(a / b, eb);
      Range range = holds_zero(b, eb) ? Range{0, kInfinity} : quotient_range(a, ea, b, eb);
      if (whole(range.low) != whole(range.high)) error = std::fabs(b) + eb + ea;
    }
    return r;
  });
}

// x^y in wrapping 64-bit arithmetic.
int64_t wrapped_power(int64_t x, uint64_t y) {
  uint64_t base = bits(x), result = 1;
  for (; y > 0; y >>= 1) {
    if (y & 1) result *= base;
    base *= base;
  }
  return static_cast<int64_t>(result);
}

int64_t integer_power(int64_t x, int64_t y, DType dtype) {
  if (y >= 0 || !is_signed_integer(dtype)) return wrapped_power(x, bits(y));
  if (x == 1) return 1;
  if (x == -1) return y % 2 == 0 ? 1 : -1;
  return 0;
}

int64_t trunc_quotient(int64_t a, int64_t b, DType dtype) {
  if (b == 0) return 0;
  if (is_unsigned_integer(dtype)) return static_cast<int64_t>(bits(a) / bits(b));
  return b == -1 ? static_cast<int64_t>(0 - bits(a)) : a / b;
}

int64_t trunc_remainder(int64_t a, int64_t b, DType dtype) {
  return static_cast<int64_t>(b == 0 ? 0 : bits(a) - bits(trunc_quotient(a, b, dtype)) * bits(b));
}

// Whether to subtract 1 from the truncated quotient: the remainder's sign differs from the
// divisor's.
bool steps_down(int64_t a, int64_t b, DType dtype) {
  int64_t r = trunc_remainder(a, b, dtype);
  return is_signed_integer(dtype) && r != 0 && (r < 0) != (b < 0);
}

template <class F>
void extremum(Args args, Outputs outputs, bool larger, F&& f) {
  const RefTensor &a = *args[0].tensor, &b = *args[1].tensor;
  if (!is_real(outputs)) {
    return zip_integers(args, outputs,
                        larger ? IntegerFunction([](int64_t x, int64_t y, DType dtype) {
                          return dtype == DType::kU64
                                     ? static_cast<int64_t>(std::max(bits(x), bits(y)))
                                     : std::max(x, y);
                        })
                               : IntegerFunction([](int64_t x, int64_t y, DType dtype) {
                                   return dtype == DType::kU64
                                              ? static_cast<int64_t>(std::min(bits(x), bits(y)))
                                              : std::min(x, y);
                                 }),
                        [](double, double ea, double, double eb) { return std::max(ea, eb); });
  }
  walk_pairs(args, outputs[0], [&](size_t i, size_t j, size_t k) {
    double x = a.values[j], y = b.values[k];
    double value = std::isnan(x) ? x : (std::isnan(y) ? y : f(x, y));
    put_exact(outputs[0], i, value, std::max(a.bound[j], b.bound[k]));
  });
}

}  // namespace

void add(const AttrMap&, Args args, Outputs outputs) {
  if (!is_real(outputs)) {
    return zip_integers(
        args, outputs,
        [](int64_t a, int64_t b, DType) { return static_cast<int64_t>(bits(a) + bits(b)); },
        sum_of_bounds);
  }
  zip_real(args, outputs, [](double a, double ea, double b, double eb, double u, double& error) {
    error = ea + eb + scaled(a + b, kRoundFactor * u);
    return a + b;
  });
}

void subtract(const AttrMap&, Args args, Outputs outputs) {
  if (!is_real(outputs)) {
    return zip_integers(
        args, outputs,
        [](int64_t a, int64_t b, DType) { return static_cast<int64_t>(bits(a) - bits(b)); },
        sum_of_bounds);
  }
  zip_real(args, outputs, [](double a, double ea, double b, double eb, double u, double& error) {
    error = ea + eb + scaled(a - b, kRoundFactor * u);
    return a - b;
  });
}

void multiply(const AttrMap&, Args args, Outputs outputs) {
  if (!is_real(outputs)) {
    return zip_integers(
        args, outputs,
        [](int64_t a, int64_t b, DType) { return static_cast<int64_t>(bits(a) * bits(b)); },
        [](double a, double ea, double b, double eb) {
          return scaled(a, eb) + scaled(b, ea) + ea * eb;
        });
  }
  zip_real(args, outputs, [](double a, double ea, double b, double eb, double u, double& error) {
    error = scaled(a, eb) + scaled(b, ea) + ea * eb + scaled(a * b, kRoundFactor * u);
    return a * b;
  });
}

void divide(const AttrMap&, Args args, Outputs outputs) {
  const double division = division_factor(outputs[0]);
  zip_real(args, outputs, [=](double a, double ea, double b, double eb, double u, double& error) {
    double y = a / b;
    if (eb > 0 && holds_zero(b, eb)) {
      error = kInfinity;
    } else {
      double moved =
          eb == 0 ? ea / std::fabs(b) : (std::fabs(a) + ea) / (std::fabs(b) - eb) - std::fabs(y);
      error = (ea == 0 && eb == 0 ? 0 : moved) + scaled(y, division * u);
    }
    return y;
  });
}

void floor_divide(const AttrMap&, Args args, Outputs outputs) {
  if (is_real(outputs)) return whole_quotient(args, outputs, round_down);
  zip_integers(args, outputs, [](int64_t a, int64_t b, DType dtype) {
    return trunc_quotient(a, b, dtype) - (steps_down(a, b, dtype) ? 1 : 0);
  });
}

void trunc_divide(const AttrMap&, Args args, Outputs outputs) {
  if (is_real(outputs)) return whole_quotient(args, outputs, toward_zero);
  zip_integers(args, outputs, trunc_quotient);
}

void floor_mod(const AttrMap&, Args args, Outputs outputs) {
  if (is_real(outputs)) return remainders(args, outputs, round_down);
  zip_integers(args, outputs, [](int64_t a, int64_t b, DType dtype) {
    return trunc_remainder(a, b, dtype) + (steps_down(a, b, dtype) ? b : 0);
  });
}

void mod(const AttrMap&, Args args, Outputs outputs) {
  if (is_real(outputs)) return remainders(args, outputs, toward_zero);
  zip_integers(args, outputs, trunc_remainder);
}

// Monotonic in either operand if the base stays on one side of 0, so the corners of the box
// suffice.
void power(const AttrMap&, Args args, Outputs outputs) {
  if (!is_real(outputs)) return zip_integers(args, outputs, integer_power);
  zip_real(args, outputs, [](double a, double ea, double b, double eb, double u, double& error) {
    double y = std::pow(a, b), worst = 0;
    if (ea > 0 || eb > 0) {
      if (holds_zero(a, ea) || (a < 0 && eb > 0)) worst = kInfinity;
      for (double x : {a - ea, a + ea}) {
        for (double z : {b - eb, b + eb}) worst = std::max(worst, std::fabs(std::pow(x, z) - y));
      }
    }
    error = worst + scaled(y, kMathFactor * u);
    return y;
  });
}

void maximum(const AttrMap&, Args args, Outputs outputs) {
  extremum(args, outputs, true, [](double a, double b) { return std::max(a, b); });
}

void minimum(const AttrMap&, Args args, Outputs outputs) {
  extremum(args, outputs, false, [](double a, double b) { return std::min(a, b); });
}

}  // namespace tapml::op::reference
