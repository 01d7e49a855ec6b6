#include "arith/interval.h"

#include <algorithm>

#include "ir/expr.h"

namespace tapml::arith {

namespace {
constexpr int64_t kNegInf = Range::kNegInf;
constexpr int64_t kPosInf = Range::kPosInf;
bool infinite(int64_t a) { return a == kNegInf || a == kPosInf; }
}  // namespace

Range Range::of(__int128 lo, __int128 hi) {
  Range range;
  if (lo >= -kLimit) range.lo = lo > kLimit ? kLimit : static_cast<int64_t>(lo);
  if (hi <= kLimit) range.hi = hi < -kLimit ? -kLimit : static_cast<int64_t>(hi);
  return range;
}

int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? kPosInf : kNegInf;
}

int64_t saturating_mul(int64_t a, int64_t b) {
  int64_t product;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a > 0) == (b > 0) ? kPosInf : kNegInf;
}

int64_t ceil_div(int64_t a, int64_t b) {
  if (infinite(a)) return a;
  return -floor_div(-a, b);
}

namespace {

// Far outside all sums of finite sides, and far from the limits of the type.
constexpr __int128 kInfinity = static_cast<__int128>(1) << 100;

__int128 wide(int64_t a) { return a == kNegInf ? -kInfinity : a == kPosInf ? kInfinity : a; }

__int128 product(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (infinite(a) || infinite(b)) return (a > 0) == (b > 0) ? kInfinity : -kInfinity;
  return static_cast<__int128>(a) * b;
}

}  // namespace

Range operator+(Range a, Range b) {
  return Range::of(wide(a.lo) + wide(b.lo), wide(a.hi) + wide(b.hi));
}

Range operator-(Range a) { return Range::of(-wide(a.hi), -wide(a.lo)); }

Range operator*(Range a, Range b) {
  __int128 corners[] = {product(a.lo, b.lo), product(a.lo, b.hi), product(a.hi, b.lo),
                        product(a.hi, b.hi)};
  auto [lo, hi] = std::minmax_element(std::begin(corners), std::end(corners));
  return Range::of(*lo, *hi);
}

Range range_min(Range a, Range b) { return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)}; }
Range range_max(Range a, Range b) { return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)}; }
Range intersect(Range a, Range b) { return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)}; }
Range unite(Range a, Range b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

namespace {
int64_t quotient(int64_t a, int64_t b) {
  if (infinite(a)) return (a > 0) == (b > 0) ? kPosInf : kNegInf;
  if (infinite(b)) return (a == 0 || (a > 0) == (b > 0)) ? 0 : -1;
  return floor_div(a, b);
}

Range divide_by_positive(Range a, Range b) {
  int64_t corners[] = {quotient(a.lo, b.lo), quotient(a.lo, b.hi), quotient(a.hi, b.lo),
                       quotient(a.hi, b.hi)};
  auto [lo, hi] = std::minmax_element(std::begin(corners), std::end(corners));
  return {*lo, *hi};
}
}  // namespace

Range range_floordiv(Range a, Range b) {
  if (b.lo == 0) b.lo = 1;
  if (b.hi == 0) b.hi = -1;
  if (b.lo > b.hi || a.lo > a.hi) return {};
  if (b.lo > 0) return divide_by_positive(a, b);
  if (b.hi < 0) return divide_by_positive(-a, -b);
  return unite(divide_by_positive(a, {1, b.hi}), divide_by_positive(-a, {1, (-b).hi}));
}

Range range_floormod(Range a, Range b) {
  if (b.lo == 0) b.lo = 1;
  if (b.hi == 0) b.hi = -1;
  if (b.lo > b.hi || a.lo > a.hi) return {};
  if (b.lo > 0) {
    if (a.lo >= 0 && a.hi < b.lo) return a;
    Range result = Range::of(0, wide(b.hi) - 1);
    if (a.lo >= 0) result.hi = std::min(result.hi, a.hi);
    return result;
  }
  if (b.hi < 0) return -range_floormod(-a, -b);
  return Range::of(wide(b.lo) + 1, wide(b.hi) - 1);
}

Range dtype_range(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return {0, 1};
    case DType::kI8:
      return {-128, 127};
    case DType::kI16:
      return {-32768, 32767};
    case DType::kI32:
      return {-(int64_t{1} << 31), (int64_t{1} << 31) - 1};
    case DType::kU8:
      return {0, 255};
    case DType::kU16:
      return {0, 65535};
    case DType::kU32:
      return {0, (int64_t{1} << 32) - 1};
    case DType::kU64:
      return {0, kPosInf};
    default:
      return {};
  }
}

Interval to_interval(Range range) {
  Interval result;
  if (range.lo != kNegInf) result.lo = range.lo;
  if (range.hi != kPosInf) result.hi = range.hi;
  return result;
}

Range to_range(const Interval& interval) {
  return Range::of(interval.lo.value_or(kNegInf), interval.hi.value_or(kPosInf));
}

}  // namespace tapml::arith
