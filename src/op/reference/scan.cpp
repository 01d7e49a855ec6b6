#include "op/reference/scan.h"

#include <algorithm>
#include <vector>

#include "op/reference/repetition.h"

namespace tapml::op::reference {

namespace {

// The elements of one row in the order of accumulation.
using Row = std::vector<size_t>;

// How often the first k elements of a row repeat: exactly where k is a power of two or the whole
// row, and on a straight line between these.
class GrowingRepetition {
 public:
  GrowingRepetition(const RefTensor& x, const Row& row) {
    Repetition repeated;
    for (size_t k = 0; k < row.size(); ++k) {
      repeated.add(x.values[row[k]]);
      const size_t count = k + 1;
      if ((count & (count - 1)) == 0 || count == row.size()) {
        points_.push_back({static_cast<double>(count), repeated.factor()});
      }
    }
  }
  // Of the first `count` elements, which grows from call to call.
  double at(size_t count) {
    const auto k = static_cast<double>(count);
    while (next_ + 1 < points_.size() && points_[next_].count < k) ++next_;
    const Point& end = points_[next_];
    if (next_ == 0 || k >= end.count) return end.factor;
    const Point& begin = points_[next_ - 1];
    const double share = (k - begin.count) / (end.count - begin.count);
    return begin.factor + share * (end.factor - begin.factor);
  }

 private:
  struct Point {
    double count, factor;
  };
  std::vector<Point> points_;
  size_t next_ = 0;
};

// Sums so far.
class RunningSum {
 public:
  RunningSum(const RefTensor& x, const Row& row, double unit)
      : x_(x), unit_(unit), repetition_(x, row) {}

  void take(size_t i) {
    value += x_.values[i];
    rounding_.add(x_.values[i]);
    const Error moved = error_of(x_, i);
    moved_.systematic += moved.systematic;
    moved_.variance += moved.variance;
    ++count_;
  }
  Error error() {
    if (count_ == 0) return {};
    return Error::of(moved_.systematic,
                     moved_.variance + rounding_.variance(unit_, repetition_.at(count_)));
  }

  double value = 0;

 private:
  const RefTensor& x_;
  double unit_;
  GrowingRepetition repetition_;
  SumRounding rounding_;
  Error moved_;
  size_t count_ = 0;
};

// Products so far. Each multiplication has a relative rounding. As in `prod`, a partial product may
// leave the range.
class RunningProduct {
 public:
  RunningProduct(const RefTensor& x, const Row& row, double unit)
      : x_(x), unit_(unit), compute_(accumulation_dtype(x.dtype)), repetition_(x, row) {}

  void take(size_t i) {
    const double factor = std::fabs(x_.values[i]) + x_.bound[i];
    const double most = (std::fabs(value) + linear_) * factor;
    const double moved = (std::fabs(value) + moved_) * factor;
    value *= x_.values[i];
    linear_ = most - std::fabs(value) + scaled(value, kRoundFactor * unit_);
    moved_ = moved - std::fabs(value);
    above_ *= std::max(factor, 1.0);
    if (x_.values[i] != 0) below_ *= std::min(std::fabs(x_.values[i]), 1.0);
    ++count_;
  }
  Error error() {
    if (count_ == 0) return {};
    if (above_ > largest(compute_) || (value != 0 && below_ < underflow(compute_))) {
      return Error::open();
    }
    const double variance =
        rounding_variance(unit_, value) * static_cast<double>(count_) * repetition_.at(count_);
    Error error = Error::of(moved_, variance);
    // A few roundings of one sign have less.
    error.bound = std::min(error.bound, linear_);
    return error;
  }

  double value = 1;

 private:
  const RefTensor& x_;
  double unit_;
  DType compute_;
  GrowingRepetition repetition_;
  double above_ = 1, below_ = 1;   // of the magnitudes above 1, and of those below
  double linear_ = 0, moved_ = 0;  // with all roundings at their largest, and without any
  size_t count_ = 0;
};

// Calls f(row) for each row along the axis.
template <class F>
void each_row(const AttrMap& attrs, const Shape& shape, F&& f) {
  const AxisView view(shape, *find_attr<int64_t>(attrs, "axis"));
  const bool reverse = attr_or(attrs, "reverse", false);
  Row row(view.extent);
  for (size_t o = 0; o < view.outer; ++o) {
    for (size_t i = 0; i < view.inner; ++i) {
      for (size_t k = 0; k < view.extent; ++k) {
        row[k] = view.at(o, reverse ? view.extent - 1 - k : k, i);
      }
      f(row);
    }
  }
}

template <class Running>
void scan_floats(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  const bool exclusive = attr_or(attrs, "exclusive", false);
  const double unit = compute_unit(x.dtype);
  each_row(attrs, x.shape, [&](const Row& row) {
    Running running(x, row, unit);
    for (const size_t at : row) {
      if (!exclusive) running.take(at);
      put(outputs[0], at, running.value, running.error());
      if (exclusive) running.take(at);
    }
    outputs[0].correlated = std::max<size_t>(1, row.size());
  });
}

void scan_integers(const AttrMap& attrs, Args args, Outputs outputs, uint64_t identity,
                   uint64_t (*combine)(uint64_t, uint64_t)) {
  const RefTensor& x = *args[0].tensor;
  const bool exclusive = attr_or(attrs, "exclusive", false);
  each_row(attrs, x.shape, [&](const Row& row) {
    uint64_t running = identity;
    bool unsure = false;
    for (const size_t at : row) {
      const auto take = [&] {
        running = combine(running, static_cast<uint64_t>(x.integer(at)));
        unsure |= is_unsure(x, at);
      };
      if (!exclusive) take();
      put_integer(outputs[0], at, static_cast<int64_t>(running), unsure ? kInfinity : 0);
      if (exclusive) take();
    }
  });
}

}  // namespace

void cumsum(const AttrMap& attrs, Args args, Outputs outputs) {
  if (is_float(outputs[0].dtype)) return scan_floats<RunningSum>(attrs, args, outputs);
  scan_integers(attrs, args, outputs, 0, [](uint64_t a, uint64_t b) { return a + b; });
}

void cumprod(const AttrMap& attrs, Args args, Outputs outputs) {
  if (is_float(outputs[0].dtype)) return scan_floats<RunningProduct>(attrs, args, outputs);
  scan_integers(attrs, args, outputs, 1, [](uint64_t a, uint64_t b) { return a * b; });
}

}  // namespace tapml::op::reference
