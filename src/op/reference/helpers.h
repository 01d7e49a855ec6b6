// Rounding bounds, strides and iteration helpers of the reference rules.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "op/reference/rules.h"

namespace tapml::op::reference {

// Any result of a function that platforms document within 4 ULP (the portable exp, tanh, ..., and
// relaxed divisions and roots): kMathFactor * u * |value|.
inline constexpr double kMathFactor = 8;

// The same for a quotient or a square root that is the nearest number, or the product with a
// reciprocal that is.
inline double division_factor(const RefTensor& out) {
  return out.allowed.relaxed_division ? kMathFactor : kRoundFactor;
}
// The same for 1 / sqrt(x).
inline double root_factor(const RefTensor& out) {
  return out.allowed.relaxed_division ? kMathFactor : 2 * kRoundFactor;
}

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Round-off of the type of arithmetic on `dtype` (f32 for narrower floats).
double compute_unit(DType dtype);
// Size of results that a correct implementation may flush to zero or lose to subnormal rounding.
double underflow(DType dtype);
// Largest finite magnitude; infinity for dtypes that are not floats.
double largest(DType dtype);
// Whether a sum of squares with the round-off `unit` may overflow before a quotient or a root
// brings it back, so that an honest result may be infinite, or the one of an infinite sum.
bool overflows(double sum, double unit);
// Ends of the range: infinities for floats (the 64-bit ends are rounded to a double).
double lowest_value(DType dtype);
double highest_value(DType dtype);

// factor * error, or 0 if the error is 0, even with an infinite factor.
inline double scaled(double factor, double error) {
  return error == 0 ? 0 : std::fabs(factor) * error;
}

// How far a correct implementation's element may be from its value (RefTensor).
struct Error {
  double bound = 0;
  double systematic = 0;
  double variance = 0;  // of the random part

  // Of which no more is known than the bound.
  static Error within(double bound) { return {bound, bound, 0}; }
  // Of a result that may be anything although its operands are exact.
  static Error open() { return {std::numeric_limits<double>::infinity(), 0, 0}; }
  // Of many independent parts, so that the random part stays within kTails standard deviations.
  static Error of(double systematic, double variance) {
    return {systematic + kTails * std::sqrt(variance), systematic, variance};
  }
};

// The error of element i.
inline Error error_of(const RefTensor& x, size_t i) {
  const double deviation = x.deviation[i];
  return {x.bound[i], x.systematic_at(i), deviation * deviation};
}
inline Error scaled(double factor, const Error& error) {
  return {scaled(factor, error.bound), scaled(factor, error.systematic),
          scaled(factor * factor, error.variance)};
}

// A value with its error.
struct Element {
  double value = 0;
  Error error;
};

// What storing a value in a dtype may do to it.
struct Storage {
  explicit Storage(DType dtype);

  bool rounds;       // of floats
  double unit;       // its round-off
  double limit;      // magnitudes from here up round to infinity
  double underflow;  // underflow(dtype)
  double factor;     // of the variance of a rounding: the reference rounds f64 itself
};

// The power of two at or below a magnitude (0 for a subnormal one); as for 0.5 where it is 0.
inline double power_below(double magnitude) {
  constexpr uint64_t kExponent = uint64_t{0x7ff} << 52;
  if (magnitude == 0) return 0.5;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(magnitude) & kExponent);
}

// A value that is computed with an error and stored in a dtype, whose rounding the result's error
// has too. Values that overflow the dtype become infinite; near the limit, the bound is infinite.
inline Element stored(const Storage& storage, double value, Error full) {
  const double error = std::isnan(full.bound) ? kInfinity : full.bound;
  full.bound = error;
  if (!storage.rounds || !std::isfinite(value)) return {value, full};
  const double magnitude = std::fabs(value);
  if (magnitude - error >= storage.limit) return {std::copysign(kInfinity, value), {}};
  if (magnitude + error >= storage.limit) return {value, Error::within(kInfinity)};
  const double unit = storage.unit, underflow = storage.underflow;
  // Half of the spacing at the value is the largest rounding; each up to it is as likely.
  const double spacing = std::max(unit * 2 * power_below(magnitude), underflow);
  return {value,
          {error + kRoundFactor * unit * (magnitude + error) + underflow,
           full.systematic + (magnitude * unit < underflow ? underflow : 0),
           full.variance + storage.factor * spacing * spacing / 12}};
}
inline Element stored(DType dtype, double value, const Error& error) {
  return stored(Storage(dtype), value, error);
}
// Sets element i to `value`, computed with `error` and stored in the tensor's dtype.
void put(RefTensor& out, size_t i, double value, Error error);
inline void put(RefTensor& out, size_t i, double value, double error) {
  put(out, i, value, Error::within(error));
}
// The same without rounding, for moved elements and exact results.
void put_exact(RefTensor& out, size_t i, double value, Error error);
inline void put_exact(RefTensor& out, size_t i, double value, double bound) {
  put_exact(out, i, value, Error::within(bound));
}
// Replaces the error of element i by a bound.
void put_bound(RefTensor& out, size_t i, double bound);
// Sets an integer or bool result, wrapped to the dtype's width.
void put_integer(RefTensor& out, size_t i, int64_t value, double bound = 0);
// Sets element i of `out` to element j of `from`, rounded if the dtype is narrower.
void put_moved(RefTensor& out, size_t i, const RefTensor& from, size_t j);

// Variance of one rounding of a value in a type of round-off `unit`, wherever the value is between
// two powers of 2. The reference rounds f64 itself.
inline double rounding_variance(double unit, double value) {
  const double variance = unit * unit * value * value / 3;
  return unit <= 0x1p-53 ? 2 * variance : variance;
}

// Round-off of f16, and the variance of rounding to its smallest numbers.
inline constexpr double kHalfUnit = 0x1p-11;
inline constexpr double kHalfFloor = 0x1p-48 / 12;

// Variance of the roundings of a sum, and of its terms, in the worst honest order. Rounding the
// partial sum S_k adds at most (u S_k)^2 / 3. A sequential sum has the largest partial sums, unless
// terms cancel their neighbors: then those of eight interleaved lanes may be larger.
class SumRounding {
 public:
  void add(double term) {
    double& lane = lanes_[count_++ % 8];
    lane += term;
    sum_ += term;
    by_lanes_ += lane * lane;
    sequential_ += sum_ * sum_;
    terms_ += term * term;
  }
  // `repetition`: how often the terms repeat (Repetition).
  double variance(double unit, double repetition = 1) const {
    const double floor = unit == kHalfUnit ? static_cast<double>(2 * count_) * kHalfFloor : 0;
    return rounding_variance(unit, 1) * (std::max(sequential_, by_lanes_) * repetition + terms_) +
           floor;
  }
  // Sum of the terms' squares.
  double squares() const { return terms_; }

 private:
  double sum_ = 0, sequential_ = 0, by_lanes_ = 0, terms_ = 0;
  double lanes_[8] = {};
  size_t count_ = 0;
};

// Allocates all parts of a result, so that threads may put different elements.
void allocate_parts(RefTensor& out);
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

// Weights of a softmax over `scores`, with their errors, in a type of round-off `unit` whose
// divisions have the factor `division`. `repetition`: how often the same score, with the same
// error, occurs (Repetition). Entries with infinite error get an error of 1. The result is the
// error that all weights share, relative to them; it is no part of their own systematic and random
// errors, but of their bounds.
Error softmax_row(std::vector<double>& scores, std::vector<Error>& errors, double unit,
                  double division, double repetition = 1);

}  // namespace tapml::op::reference
