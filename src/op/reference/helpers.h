// Rounding bounds, strides and iteration helpers of the reference rules.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "op/reference/rules.h"

namespace tapml::op::reference {

// Any result of a function that platforms document within 4 ULP (divisions, roots, and the portable
// exp, tanh, ...): kMathFactor * u * |value|.
inline constexpr double kMathFactor = 8;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Round-off of the type of arithmetic on `dtype` (f32 for narrower floats).
double compute_unit(DType dtype);
// Size of results that a correct implementation may flush to zero or lose to subnormal rounding.
double underflow(DType dtype);
// Largest finite magnitude; infinity for dtypes that are not floats.
double largest(DType dtype);
// Ends of the range: infinities for floats (the 64-bit ends are rounded to a double).
double lowest_value(DType dtype);
double highest_value(DType dtype);

// factor * error, or 0 if the error is 0, even with an infinite factor.
inline double scaled(double factor, double error) {
  return error == 0 ? 0 : std::fabs(factor) * error;
}

// Sets element i to `value`, computed within `error`, and adds the rounding to the tensor's dtype.
// Values that overflow the dtype become infinite; near the limit, the bound is infinite.
void put(RefTensor& out, size_t i, double value, double error);
// The same without rounding, for moved elements and exact results.
void put_exact(RefTensor& out, size_t i, double value, double bound);
// Sets an integer or bool result, wrapped to the dtype's width.
void put_integer(RefTensor& out, size_t i, int64_t value, double bound = 0);
// Sets element i of `out` to element j of `from`, rounded if the dtype is narrower.
void put_moved(RefTensor& out, size_t i, const RefTensor& from, size_t j);

// Error of a sum of `count` terms in a type of round-off `unit`; `magnitude` is sum |term|.
double sum_error(double unit, size_t count, double magnitude);

// Marks every element as unknown.
inline void open_all(RefTensor& out) { out.bound.assign(out.values.size(), kInfinity); }
// Whether every element is exact.
bool is_exact(const RefTensor& tensor);

std::vector<int64_t> row_major_strides(const Shape& shape);
// Strides of a tensor of shape `from` over the dimensions of `to` (0 if broadcast).
std::vector<int64_t> broadcast_strides(const Shape& from, const Shape& to);

// Calls f(linear, offset) for every index of `shape` in row-major order, where `offset` is
// base + index . strides.
template <class F>
void walk(const Shape& shape, const std::vector<int64_t>& strides, int64_t base, F&& f) {
  auto count = static_cast<size_t>(element_count(shape));
  std::vector<int64_t> index(shape.size(), 0);
  int64_t offset = base;
  for (size_t linear = 0; linear < count; ++linear) {
    f(linear, static_cast<size_t>(offset));
    for (size_t d = shape.size(); d-- > 0;) {
      offset += strides[d];
      if (++index[d] < shape[d]) break;
      offset -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

// A tensor seen as [outer, extent, inner] around one axis.
struct AxisView {
  size_t outer = 1, extent = 1, inner = 1;
  AxisView(const Shape& shape, int64_t axis);
  size_t at(size_t o, size_t k, size_t i) const { return (o * extent + k) * inner + i; }
};

// Weights of a softmax over `scores` (each within its error), with their errors, in a type of
// round-off `unit`. Entries with infinite error get an error of 1.
void softmax_row(std::vector<double>& scores, std::vector<double>& errors, double unit);

}  // namespace tapml::op::reference
