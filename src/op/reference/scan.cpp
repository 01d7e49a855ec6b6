#include "op/reference/scan.h"

namespace tapml::op::reference {

namespace {

// The value accumulated so far, as a real number with its error and as an integer.
struct Running {
  double value, error = 0, magnitude = 0;
  uint64_t integer;
  size_t count = 0;
  bool unsure = false;
};

void add_to(Running& sum, const RefTensor& x, size_t i, double /*unit*/) {
  sum.value += x.values[i];
  sum.magnitude += std::fabs(x.values[i]) + x.bound[i];
  sum.error += x.bound[i];
  if (!is_float(x.dtype)) sum.integer += static_cast<uint64_t>(x.integer(i));
  ++sum.count;
}

void multiply_by(Running& product, const RefTensor& x, size_t i, double unit) {
  double most = (std::fabs(product.value) + product.error) * (std::fabs(x.values[i]) + x.bound[i]);
  product.value *= x.values[i];
  product.error = most - std::fabs(product.value) + scaled(product.value, kRoundFactor * unit);
  if (!is_float(x.dtype)) product.integer *= static_cast<uint64_t>(x.integer(i));
  ++product.count;
}

using Step = void (*)(Running& running, const RefTensor& x, size_t i, double unit);

void scan(const AttrMap& attrs, Args args, Outputs outputs, double identity, Step step) {
  const RefTensor& x = *args[0].tensor;
  RefTensor& out = outputs[0];
  AxisView view(x.shape, *find_attr<int64_t>(attrs, "axis"));
  bool exclusive = attr_or(attrs, "exclusive", false), reverse = attr_or(attrs, "reverse", false);
  double unit = compute_unit(x.dtype);
  for (size_t o = 0; o < view.outer; ++o) {
    for (size_t i = 0; i < view.inner; ++i) {
      Running running{.value = identity, .integer = static_cast<uint64_t>(identity)};
      for (size_t k = 0; k < view.extent; ++k) {
        size_t at = view.at(o, reverse ? view.extent - 1 - k : k, i);
        auto advance = [&] {
          step(running, x, at, unit);
          running.unsure |= is_unsure(x, at);
        };
        if (!exclusive) advance();
        if (is_float(x.dtype)) {
          double rounding = sum_error(unit, running.count, running.magnitude);
          put(out, at, running.value, running.error + rounding);
        } else {
          put_integer(out, at, static_cast<int64_t>(running.integer),
                      running.unsure ? kInfinity : 0);
        }
        if (exclusive) advance();
      }
    }
  }
}

}  // namespace

void cumsum(const AttrMap& attrs, Args args, Outputs outputs) {
  scan(attrs, args, outputs, 0, add_to);
}

void cumprod(const AttrMap& attrs, Args args, Outputs outputs) {
  scan(attrs, args, outputs, 1, multiply_by);
}

}  // namespace tapml::op::reference
