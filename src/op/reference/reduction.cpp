#include "op/reference/reduction.h"

#include <algorithm>

#include "op/reference/repetition.h"

namespace tapml::op::reference {

namespace {

// For each element of x, the output element into which it is reduced.
std::vector<size_t> reduction_targets(const AttrMap& attrs, const Shape& shape) {
  auto rank = static_cast<int64_t>(shape.size());
  std::vector<bool> reduced(shape.size(), false);
  const auto* axes = find_attr<std::vector<int64_t>>(attrs, "axes");
  if (axes == nullptr || axes->empty()) {
    reduced.assign(shape.size(), true);
  } else {
    for (int64_t axis : *axes) reduced[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
  }
  std::vector<int64_t> strides(shape.size(), 0);
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (reduced[d]) continue;
    strides[d] = stride;
    stride *= shape[d];
  }
  std::vector<size_t> targets(static_cast<size_t>(element_count(shape)));
  walk(shape, strides, 0, [&](size_t i, size_t j) { targets[i] = j; });
  return targets;
}

// The elements of x that are reduced into each output element, in order.
std::vector<std::vector<size_t>> groups_of(const AttrMap& attrs, const RefTensor& x,
                                           const RefTensor& out) {
  std::vector<std::vector<size_t>> groups(out.values.size());
  std::vector<size_t> targets = reduction_targets(attrs, x.shape);
  for (size_t i = 0; i < targets.size(); ++i) groups[targets[i]].push_back(i);
  return groups;
}

Sample sample_of(const RefTensor& x, const std::vector<size_t>& group) {
  Sample sample;
  for (size_t i : group) sample.add(x, i);
  return sample;
}

// Calls f(t, group) for every output element.
template <class F>
void over_groups(const AttrMap& attrs, Args args, Outputs outputs, F&& f) {
  auto groups = groups_of(attrs, *args[0].tensor, outputs[0]);
  for (size_t t = 0; t < groups.size(); ++t) f(t, groups[t]);
}

// Sum of a sample and its error.
double sum_of(const Sample& sample, double unit, Error& error) {
  double total = 0, systematic = 0, variance = 0;
  SumRounding rounding;
  Repetition repeated;
  for (size_t k = 0; k < sample.values.size(); ++k) {
    total += sample.values[k];
    rounding.add(sample.values[k]);
    repeated.add(sample.values[k]);
    systematic += sample.errors[k].systematic;
    variance += sample.errors[k].variance;
  }
  error = Error::of(systematic, variance + rounding.variance(unit, repeated.factor()));
  return total;
}

// Reduces wrapping integers; the bounds of the operands determine whether the result is certain.
template <class F>
void fold_integers(const AttrMap& attrs, Args args, Outputs outputs, uint64_t start, F&& f) {
  const RefTensor& x = *args[0].tensor;
  over_groups(attrs, args, outputs, [&](size_t t, const std::vector<size_t>& group) {
    uint64_t value = start;
    bool unsure = false;
    for (size_t i : group) {
      value = f(value, static_cast<uint64_t>(x.integer(i)));
      unsure |= is_unsure(x, i);
    }
    put_integer(outputs[0], t, static_cast<int64_t>(value), unsure ? kInfinity : 0);
  });
}

// Whether element a comes before b: the larger for +1, the smaller for -1. NaN comes first.
bool comes_before(const RefTensor& x, size_t a, size_t b, int direction) {
  if (std::isnan(x.values[b])) return false;
  if (std::isnan(x.values[a])) return true;
  if (x.integers.empty()) return direction * (x.values[a] - x.values[b]) > 0;
  if (x.dtype == DType::kU64) {
    auto u = static_cast<uint64_t>(x.integer(a)), v = static_cast<uint64_t>(x.integer(b));
    return direction > 0 ? u > v : u < v;
  }
  return direction > 0 ? x.integer(a) > x.integer(b) : x.integer(a) < x.integer(b);
}

// The first element of a non-empty group that no other element comes before.
size_t best_of(const RefTensor& x, const std::vector<size_t>& group, int direction) {
  size_t best = group[0];
  for (size_t i : group) {
    if (comes_before(x, i, best, direction)) best = i;
  }
  return best;
}

void extremum(const AttrMap& attrs, Args args, Outputs outputs, int direction) {
  const RefTensor& x = *args[0].tensor;
  RefTensor& out = outputs[0];
  over_groups(attrs, args, outputs, [&](size_t t, const std::vector<size_t>& group) {
    if (group.empty()) {
      put_exact(out, t, direction > 0 ? lowest_value(x.dtype) : highest_value(x.dtype), 0);
      return;
    }
    size_t best = best_of(x, group, direction);
    put_moved(out, t, x, best);
    if (std::isnan(x.values[best])) return;
    // The interval between the extremum of the near ends and that of the far ends.
    double near = -kInfinity, far = -kInfinity;
    for (size_t i : group) {
      near = std::max(near, direction * x.values[i] - x.bound[i]);
      far = std::max(far, direction * x.values[i] + x.bound[i]);
    }
    double value = direction * x.values[best];
    if (near == far) return;
    const bool certain = std::ranges::all_of(group, [&](size_t i) {
      return i == best || direction * x.values[i] + x.bound[i] < value - x.bound[best];
    });
    if (!certain) put_bound(out, t, std::max(far - value, value - near));
  });
}

// If another element is within both bounds, the choice is ambiguous: the bound is the distance.
void position(const AttrMap& attrs, Args args, Outputs outputs, int direction) {
  const RefTensor& x = *args[0].tensor;
  AxisView view(x.shape, attr_or<int64_t>(attrs, "axis", -1));
  for (size_t o = 0; o < view.outer; ++o) {
    for (size_t i = 0; i < view.inner; ++i) {
      std::vector<size_t> group;
      for (size_t k = 0; k < view.extent; ++k) group.push_back(view.at(o, k, i));
      if (group.empty()) continue;
      size_t at = best_of(x, group, direction);
      auto best = static_cast<size_t>(std::find(group.begin(), group.end(), at) - group.begin());
      size_t reach = 0;
      for (size_t k = 0; k < view.extent; ++k) {
        double slack = x.bound[at] + x.bound[group[k]];
        double apart = std::fabs(x.values[at] - x.values[group[k]]);
        if (k == best || slack == 0 || apart > slack) continue;
        reach = std::max(reach, k > best ? k - best : best - k);
      }
      put_exact(outputs[0], o * view.inner + i, static_cast<double>(best),
                static_cast<double>(reach));
    }
  }
}

// Whether an element that decides the result is certainly or possibly present.
void truth(const AttrMap& attrs, Args args, Outputs outputs, bool decides) {
  const RefTensor& x = *args[0].tensor;
  over_groups(attrs, args, outputs, [&](size_t t, const std::vector<size_t>& group) {
    bool surely = false, perhaps = false, found = false;
    for (size_t i : group) {
      Truth element(x, i);
      found |= element.value == decides;
      surely |= element.value == decides && !element.unsure;
      perhaps |= element.unsure;
    }
    put_exact(outputs[0], t, found ? decides : !decides, perhaps && !surely ? 1 : 0);
  });
}

}  // namespace

Moments moments_of(const Sample& sample, Arithmetic arithmetic, double correction) {
  const auto [unit, division] = arithmetic;
  Moments m;
  const auto count = static_cast<double>(sample.values.size());
  Error of_sum;
  m.mean.value = sum_of(sample, unit, of_sum) / count;
  m.mean.error = scaled(1 / count, of_sum);
  m.mean.error = Error::of(m.mean.error.systematic + scaled(m.mean.value, division * unit),
                           m.mean.error.variance);
  double squares = 0, systematic = 0, variance = 0, fourth_powers = 0;
  double sum = 0, distances = 0, running_means = 0, k = 0;
  SumRounding rounding;
  Repetition repeated;
  for (size_t i = 0; i < sample.values.size(); ++i) {
    const double d = sample.values[i] - m.mean.value, s = sample.errors[i].systematic,
                 v = sample.errors[i].variance;
    squares += d * d;
    rounding.add(d * d);
    repeated.add(d * d);
    fourth_powers += d * d * d * d;
    systematic += (2 * std::fabs(d) + s) * s;
    variance += (4 * d * d + v) * v;
    // Element k rounds the running mean of one pass, by which all later distances are off.
    ++k;
    sum += sample.values[i];
    const double mean = sum / k;
    running_means += distances * distances * (mean * mean + d * d / (k * k));
    distances += d;
  }
  // The distances add up to 0, so that a mean which is off by e adds e^2 to each square.
  systematic += count * m.mean.error.bound * m.mean.error.bound;
  const double repetition = repeated.factor();
  variance += rounding.variance(unit, repetition) +
              rounding_variance(unit, 1) * 4 * (fourth_powers * repetition + running_means);
  const double divisor = std::max(count - correction, 0.0);
  m.variance.value = squares / divisor;
  m.variance.error = Error::of(systematic / divisor + scaled(m.variance.value, division * unit),
                               variance / (divisor * divisor));
  if (overflows(squares + systematic + kTails * std::sqrt(variance), unit)) {
    m.variance.error = Error::open();
  }
  return m;
}

// The result moves by a weighted mean of the elements' errors, so by no more than the largest
// bound. The roundings of the differences from the peak, the exponentials, their sum and its
// logarithm are added.
LogSum log_sum_of(const Sample& sample, double unit) {
  double peak = -kInfinity, moved = 0;
  for (size_t k = 0; k < sample.values.size(); ++k) {
    if (std::isnan(sample.values[k])) return {sample.values[k], sample.values[k], {}, {}};
    peak = std::max(peak, sample.values[k]);
    moved = std::max(moved, sample.errors[k].bound);
  }
  if (std::isinf(peak)) return {peak, 0, Error::within(moved), {}};
  double total = 0, shifts = 0;
  Error mean;
  SumRounding rounding;
  Repetition repeated;
  for (size_t k = 0; k < sample.values.size(); ++k) {
    const double shift = peak - sample.values[k], weight = std::exp(-shift);
    total += weight;
    rounding.add(weight);
    repeated.add(weight);
    if (weight > 0) shifts += weight * weight * shift * shift;
    mean.systematic += weight * sample.errors[k].systematic;
    mean.variance += weight * weight * sample.errors[k].variance;
  }
  mean = {moved, mean.systematic / total, mean.variance / (total * total)};
  const double log_total = std::log(total), repetition = repeated.factor();
  const double variance =
      (rounding.variance(unit, repetition) + rounding_variance(unit, 1) * shifts * repetition) /
      (total * total);
  // Beyond small errors, exp is not linear.
  return {peak, log_total, moved < 0.1 ? mean : Error::within(moved),
          Error::of(2 * kMathFactor * unit + kMathFactor * unit * log_total, variance)};
}

void sum(const AttrMap& attrs, Args args, Outputs outputs) {
  if (!is_float(outputs[0].dtype)) {
    return fold_integers(attrs, args, outputs, 0, [](uint64_t a, uint64_t b) { return a + b; });
  }
  const RefTensor& x = *args[0].tensor;
  over_groups(attrs, args, outputs, [&](size_t t, const std::vector<size_t>& group) {
    Error error;
    double total = sum_of(sample_of(x, group), compute_unit(x.dtype), error);
    put(outputs[0], t, total, error);
  });
}

void mean(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  double unit = compute_unit(x.dtype);
  over_groups(attrs, args, outputs, [&](size_t t, const std::vector<size_t>& group) {
    Error error;
    auto count = static_cast<double>(group.size());
    double value = sum_of(sample_of(x, group), unit, error) / count;
    error = scaled(1 / count, error);
    put(outputs[0], t, value,
        Error::of(error.systematic + scaled(value, division_factor(outputs[0]) * unit),
                  error.variance));
  });
}

// One relative rounding per factor. If the product of the factors above 1, or of those below 1,
// leaves the range, so may a partial product.
void prod(const AttrMap& attrs, Args args, Outputs outputs) {
  if (!is_float(outputs[0].dtype)) {
    return fold_integers(attrs, args, outputs, 1, [](uint64_t a, uint64_t b) { return a * b; });
  }
  const RefTensor& x = *args[0].tensor;
  DType compute = accumulation_dtype(x.dtype);
  over_groups(attrs, args, outputs, [&](size_t t, const std::vector<size_t>& group) {
    double value = 1, most = 1, above = 1, below = 1;
    Repetition repeated;
    for (size_t i : group) {
      repeated.add(x.values[i]);
      double reach = std::fabs(x.values[i]) + x.bound[i];
      value *= x.values[i];
      most *= reach;
      above *= std::max(reach, 1.0);
      if (x.values[i] != 0) below *= std::min(std::fabs(x.values[i]), 1.0);
    }
    const auto count = static_cast<double>(group.size());
    const double unit = unit_roundoff(compute), moved = most - std::fabs(value);
    Error error = Error::of(moved, rounding_variance(unit, value) * count * repeated.factor());
    error.bound = std::min(error.bound, moved + scaled(value, kRoundFactor * unit * count));
    // An infinite partial product times 0 is no number.
    const bool leaves = above > largest(compute) || (value != 0 && below < underflow(compute));
    put(outputs[0], t, value, leaves ? Error::open() : error);
  });
}

void max(const AttrMap& attrs, Args args, Outputs outputs) { extremum(attrs, args, outputs, 1); }
void min(const AttrMap& attrs, Args args, Outputs outputs) { extremum(attrs, args, outputs, -1); }
void any(const AttrMap& attrs, Args args, Outputs outputs) { truth(attrs, args, outputs, true); }
void all(const AttrMap& attrs, Args args, Outputs outputs) { truth(attrs, args, outputs, false); }
void argmax(const AttrMap& attrs, Args args, Outputs outputs) { position(attrs, args, outputs, 1); }
void argmin(const AttrMap& attrs, Args args, Outputs outputs) {
  position(attrs, args, outputs, -1);
}

void variance(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  auto correction = static_cast<double>(attr_or<int64_t>(attrs, "correction", 0));
  over_groups(attrs, args, outputs, [&](size_t t, const std::vector<size_t>& group) {
    Moments m = moments_of(sample_of(x, group),
                           {compute_unit(x.dtype), division_factor(outputs[0])}, correction);
    // Division by 0 gives NaN, or infinity if rounding leaves a non-zero square.
    const bool none = group.size() > 1 && static_cast<double>(group.size()) <= correction;
    put(outputs[0], t, m.variance.value, none ? Error::open() : m.variance.error);
  });
}

void logsumexp(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  over_groups(attrs, args, outputs, [&](size_t t, const std::vector<size_t>& group) {
    const double unit = compute_unit(x.dtype);
    const LogSum sum = log_sum_of(sample_of(x, group), unit);
    const double value = sum.peak + sum.log_total;
    put(outputs[0], t, value,
        {sum.moved.bound + sum.error.bound + scaled(value, kRoundFactor * unit),
         sum.moved.systematic + sum.error.systematic,
         sum.moved.variance + sum.error.variance + rounding_variance(unit, value)});
  });
}

}  // namespace tapml::op::reference
