#include "op/reference/rounding.h"

namespace tapml::op::reference {

namespace {

bool is_real(Args args) { return is_float(args[0].tensor->dtype); }

// For exact functions: only the operand's error affects the result; nothing is rounded.
void map_exact(Args args, Outputs outputs, double (*f)(double), std::vector<double> turns = {}) {
  const RefTensor& x = *args[0].tensor;
  for (size_t i = 0; i < x.values.size(); ++i) {
    double value = x.values[i], e = x.bound[i], y = f(value), bound = 0;
    if (e > 0) {
      bound = std::max(std::fabs(f(value + e) - y), std::fabs(f(value - e) - y));
      for (double turn : turns) {
        if (std::fabs(turn - value) < e) bound = std::max(bound, std::fabs(f(turn) - y));
      }
    }
    put_exact(outputs[0], i, y, bound);
  }
}

// Only floats are rounded; integers are unchanged.
void map_rounding(Args args, Outputs outputs, double (*f)(double)) {
  if (is_real(args)) return map_exact(args, outputs, f);
  map_integers(args, outputs, [](int64_t x, DType) { return x; });
}

int64_t wrapped_negative(int64_t x) {
  return static_cast<int64_t>(uint64_t{0} - static_cast<uint64_t>(x));
}

}  // namespace

void negative(const AttrMap&, Args args, Outputs outputs) {
  if (is_real(args)) return map_exact(args, outputs, [](double x) { return -x; });
  map_integers(args, outputs, [](int64_t x, DType) { return wrapped_negative(x); });
}

void abs(const AttrMap&, Args args, Outputs outputs) {
  if (is_real(args)) return map_exact(args, outputs, [](double x) { return std::fabs(x); }, {0});
  map_integers(args, outputs, [](int64_t x, DType dtype) {
    return x < 0 && is_signed_integer(dtype) ? wrapped_negative(x) : x;
  });
}

void sign(const AttrMap&, Args args, Outputs outputs) {
  if (is_real(args)) {
    return map_exact(args, outputs, [](double x) -> double { return x > 0 ? 1 : x < 0 ? -1 : x; });
  }
  map_integers(args, outputs, [](int64_t x, DType dtype) -> int64_t {
    if (x == 0) return 0;
    return x < 0 && is_signed_integer(dtype) ? -1 : 1;
  });
}

void square(const AttrMap&, Args args, Outputs outputs) {
  if (is_real(args)) {
    return map_real(args, outputs,
                    {[](double x) { return x * x; },
                     [](double, double y, double u) { return scaled(y, kRoundFactor * u); },
                     [](double x, double e, double) { return (2 * std::fabs(x) + e) * e; }});
  }
  map_integers(args, outputs, [](int64_t x, DType) {
    return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(x));
  });
}

void floor(const AttrMap&, Args args, Outputs outputs) {
  map_rounding(args, outputs, [](double x) { return std::floor(x); });
}
void ceil(const AttrMap&, Args args, Outputs outputs) {
  map_rounding(args, outputs, [](double x) { return std::ceil(x); });
}
void trunc(const AttrMap&, Args args, Outputs outputs) {
  map_rounding(args, outputs, [](double x) { return std::trunc(x); });
}
void round(const AttrMap&, Args args, Outputs outputs) {
  map_rounding(args, outputs, [](double x) {
    double down = std::floor(x), rest = x - down;
    if (rest != 0.5) return rest < 0.5 ? down : down + 1;
    return std::fmod(down, 2) == 0 ? down : down + 1;
  });
}

void clip(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  RefTensor& out = outputs[0];
  const auto* low = find_attr<double>(attrs, "min");
  const auto* high = find_attr<double>(attrs, "max");
  for (size_t i = 0; i < x.values.size(); ++i) {
    double value = x.values[i];
    // The clip bounds are rounded to the dtype like any constant.
    bool bounded = false;
    if (low && value < *low) {
      value = *low;
      bounded = true;
    }
    if (high && value > *high) {
      value = *high;
      bounded = true;
    }
    if (bounded && is_float(out.dtype)) {
      put(out, i, value, x.bound[i]);
    } else if (bounded) {
      put_exact(out, i, std::clamp(value, lowest_value(out.dtype), highest_value(out.dtype)),
                x.bound[i]);
    } else {
      put_moved(out, i, x, i);
    }
  }
}

}  // namespace tapml::op::reference
