// Closed integer intervals.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "tensor/dtype.h"

namespace tapml::arith {

// The public form: an absent side is unbounded.
struct Interval {
  std::optional<int64_t> lo;
  std::optional<int64_t> hi;
  bool operator==(const Interval&) const = default;
};

// The internal form. A finite side is within +-kLimit, so that it cannot be mistaken for the
// infinity marks of an unbounded side; every operation rounds outwards to keep this, and a Range
// always contains the exact integer result.
struct Range {
  static constexpr int64_t kNegInf = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kPosInf = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kLimit = int64_t{1} << 62;
  int64_t lo = kNegInf;
  int64_t hi = kPosInf;

  static Range of(__int128 lo, __int128 hi);
  static Range point(int64_t value) { return of(value, value); }
  static Range at_least(int64_t lo) { return of(lo, kPosInf); }
  static Range at_most(int64_t hi) { return of(kNegInf, hi); }
  bool is_point() const { return lo == hi; }
  bool bounded() const { return lo != kNegInf && hi != kPosInf; }
  bool contains(int64_t value) const { return lo <= value && value <= hi; }
  bool operator==(const Range&) const = default;
};

// Quotient rounded up; keeps the infinity marks. `b` must be positive.
int64_t ceil_div(int64_t a, int64_t b);
// Sum and product that saturate at the limits of int64: for goals of a search, not for bounds.
int64_t saturating_add(int64_t a, int64_t b);
int64_t saturating_mul(int64_t a, int64_t b);

Range operator+(Range a, Range b);
Range operator*(Range a, Range b);
Range operator-(Range a);
Range range_min(Range a, Range b);
Range range_max(Range a, Range b);
Range intersect(Range a, Range b);  // empty (lo > hi) for contradictory facts
Range unite(Range a, Range b);
// Quotient and remainder over all divisors in `b` except 0; a divisor range of [0, x] counts as [1,
// x], because the expression has no value at 0.
Range range_floordiv(Range a, Range b);
Range range_floormod(Range a, Range b);
// Values of an integer or bool type; unbounded for i64 and for the upper side of u64.
Range dtype_range(DType dtype);

Interval to_interval(Range range);
Range to_range(const Interval& interval);

}  // namespace tapml::arith
