// The order of elements in references: NaN is the greatest and equals itself.
#pragma once

#include "op/reference/helpers.h"

namespace tapml::op::reference {

inline bool is_less(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }

// Whether element i of a comes before element j of b (of the same dtype); exact for 64-bit
// integers.
inline bool is_before(const RefTensor& a, size_t i, const RefTensor& b, size_t j) {
  if (a.integers.empty()) return is_less(a.values[i], b.values[j]);
  if (a.dtype == DType::kI64) return a.integers[i] < b.integers[j];
  return static_cast<uint64_t>(a.integers[i]) < static_cast<uint64_t>(b.integers[j]);
}

inline bool are_equal(const RefTensor& a, size_t i, const RefTensor& b, size_t j) {
  return !is_before(a, i, b, j) && !is_before(b, j, a, i);
}

// Ends of the interval of an element. If any value is possible, NaN is the upper end.
inline double lower_end(const RefTensor& x, size_t i) {
  if (x.bound[i] == 0) return x.values[i];
  return std::isinf(x.bound[i]) ? -kInfinity : x.values[i] - x.bound[i];
}
inline double upper_end(const RefTensor& x, size_t i) {
  if (x.bound[i] == 0) return x.values[i];
  return std::isinf(x.bound[i]) ? std::numeric_limits<double>::quiet_NaN()
                                : x.values[i] + x.bound[i];
}

// Whether the two intervals are disjoint.
inline bool are_apart(const RefTensor& a, size_t i, const RefTensor& b, size_t j) {
  return is_less(upper_end(a, i), lower_end(b, j)) || is_less(upper_end(b, j), lower_end(a, i));
}

}  // namespace tapml::op::reference
