#include "op/reference/predicates.h"

namespace tapml::op::reference {

namespace {

// A value with a finite bound stays finite, so only an infinite bound makes the result uncertain.
void test(Args args, Outputs outputs, bool (*f)(double)) {
  const RefTensor& x = *args[0].tensor;
  for (size_t i = 0; i < x.values.size(); ++i) {
    put_exact(outputs[0], i, f(x.values[i]), std::isinf(x.bound[i]) ? 1 : 0);
  }
}

// Order of two elements, in two's complement for integers: -1, 0, 1, or 2 if one is NaN.
int order(const RefTensor& a, size_t j, const RefTensor& b, size_t k) {
  auto sign = [](auto x, auto y) { return x < y ? -1 : (x > y ? 1 : 0); };
  if (is_float(a.dtype) || is_float(b.dtype)) {
    double x = a.values[j], y = b.values[k];
    return std::isnan(x) || std::isnan(y) ? 2 : sign(x, y);
  }
  if (a.dtype == DType::kU64) {
    return sign(static_cast<uint64_t>(a.integer(j)), static_cast<uint64_t>(b.integer(k)));
  }
  return sign(a.integer(j), b.integer(k));
}

// A comparison is uncertain if the operands' bounds overlap.
void compare(Args args, Outputs outputs, bool (*f)(int order)) {
  const RefTensor &a = *args[0].tensor, &b = *args[1].tensor;
  walk_pairs(args, outputs[0], [&](size_t i, size_t j, size_t k) {
    double slack = a.bound[j] + b.bound[k];
    bool unsure = slack > 0 && !(std::fabs(a.values[j] - b.values[k]) > slack);
    put_exact(outputs[0], i, f(order(a, j, b, k)), unsure ? 1 : 0);
  });
}

}  // namespace

void isnan(const AttrMap&, Args args, Outputs outputs) {
  test(args, outputs, [](double x) { return std::isnan(x); });
}
void isinf(const AttrMap&, Args args, Outputs outputs) {
  test(args, outputs, [](double x) { return std::isinf(x); });
}
void isfinite(const AttrMap&, Args args, Outputs outputs) {
  test(args, outputs, [](double x) { return std::isfinite(x); });
}

void equal(const AttrMap&, Args args, Outputs outputs) {
  compare(args, outputs, [](int order) { return order == 0; });
}
void not_equal(const AttrMap&, Args args, Outputs outputs) {
  compare(args, outputs, [](int order) { return order != 0; });
}
void less(const AttrMap&, Args args, Outputs outputs) {
  compare(args, outputs, [](int order) { return order == -1; });
}
void less_equal(const AttrMap&, Args args, Outputs outputs) {
  compare(args, outputs, [](int order) { return order == -1 || order == 0; });
}
void greater(const AttrMap&, Args args, Outputs outputs) {
  compare(args, outputs, [](int order) { return order == 1; });
}
void greater_equal(const AttrMap&, Args args, Outputs outputs) {
  compare(args, outputs, [](int order) { return order == 1 || order == 0; });
}

void where(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor& condition = *args[0].tensor;
  RefTensor& out = outputs[0];
  std::vector<size_t> conditions(out.values.size());
  walk(out.shape, broadcast_strides(condition.shape, out.shape), 0,
       [&](size_t i, size_t c) { conditions[i] = c; });
  walk_pairs(args.subspan(1), out, [&](size_t i, size_t j, size_t k) {
    const RefTensor &a = *args[1].tensor, &b = *args[2].tensor;
    bool first = condition.values[conditions[i]] != 0;
    first ? put_moved(out, i, a, j) : put_moved(out, i, b, k);
    if (condition.bound[conditions[i]] > 0) {
      double apart = std::fabs(a.values[j] - b.values[k]);
      const double bound = std::max(a.bound[j], b.bound[k]);
      put_bound(out, i, a.values[j] == b.values[k] ? bound : bound + apart);
    }
  });
}

}  // namespace tapml::op::reference
