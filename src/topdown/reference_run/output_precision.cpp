#include "topdown/reference_run/output_precision.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <tuple>
#include <vector>

namespace tapml::topdown {

namespace {

// Honest errors have a sum of squares, in deviations, of at most kRoom (n + 10 sqrt(n g) + 50 g):
// the sum of n squared normal variables, each of which is independent of all but g, exceeds the
// term in parentheses with a probability of e^-25 (Laurent and Massart 2000, lemma 1, x = 25, with
// eigenvalues of the correlations up to g and a sum of their squares up to n g). kRoom is for data
// whose roundings are not quite uniform.
constexpr double kRoom = 1.5;
// OutputPrecision::where of the two trends.
constexpr const char* kGain = "the gain";
constexpr const char* kBias = "the bias";
constexpr std::string_view kShape = "the shape of its errors";
// Of elements that have a cause's effect, the fewest that tell of it: (sum of squares)^2 over the
// sum of their squares, which is 1 for one element and a third of their number for normal effects.
constexpr double kFewestEffects = 2;

double most_squares(int64_t count, size_t correlated) {
  const auto n = static_cast<double>(count);
  const double g = std::min(n, static_cast<double>(correlated));
  return kRoom * (n + 10 * std::sqrt(n * g) + 50 * g);
}

// Share of the errors' squares from which on a gain counts as their cause.
constexpr double kMostlyGain = 0.8;

std::string number_text(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

struct Sample {
  double reference, error, systematic, deviation;
  int64_t row, column;

  // Beyond the systematic part, in deviations.
  double excess() const { return std::max(0.0, std::abs(error) - systematic) / deviation; }
};

// The elements to test.
std::vector<Sample> samples_of(const HostTensor& value, const op::RefTensor& reference,
                               const Tolerance* tolerance) {
  std::vector<Sample> samples;
  if (reference.deviation.empty() || !is_float(reference.dtype)) return samples;
  const int64_t size = value.size();
  const int64_t width = value.shape().empty() ? 1 : value.shape().back();
  for (int64_t i = 0; i < size; ++i) {
    const auto at = static_cast<size_t>(i);
    if (!reference.wanted.empty() && reference.wanted[at] != op::kRandomlyWanted) continue;
    const double deviation = reference.deviation[at];
    if (deviation == 0 || !std::isfinite(reference.bound[at])) continue;
    const double v = value.at_f64(i), r = reference.values[at];
    if (!std::isfinite(v) || !std::isfinite(r)) continue;
    const double factor = tolerance ? tolerance->factor : 1;
    const double absolute = tolerance ? tolerance->absolute : 0;
    samples.push_back({r, v - r, factor * reference.systematic_at(at) + absolute,
                       factor * deviation, i / width, i % width});
  }
  return samples;
}

// Equal elements have equal errors, so they are not independent: keeps one of each.
void keep_distinct(std::vector<Sample>& samples) {
  const auto key = [](const Sample& s) {
    return std::pair(std::bit_cast<uint64_t>(std::abs(s.reference)),
                     std::bit_cast<uint64_t>(s.deviation));
  };
  std::ranges::stable_sort(samples, {}, key);
  const auto repeated = std::ranges::unique(samples, {}, key);
  samples.erase(repeated.begin(), repeated.end());
}

// The line (a row or a column) whose squares exceed the limit most.
struct WorstLine {
  int64_t line = -1, count = 0;
  double over = 1, squares = 0;
  double rms() const { return std::sqrt(squares / static_cast<double>(count)); }
};
WorstLine worst_line(const std::vector<Sample>& samples, int64_t Sample::* line,
                     size_t correlated) {
  int64_t lines = 0;
  for (const Sample& s : samples) lines = std::max(lines, s.*line + 1);
  std::vector<double> squares(static_cast<size_t>(lines), 0);
  std::vector<int64_t> counts(static_cast<size_t>(lines), 0);
  for (const Sample& s : samples) {
    const double z = s.excess();
    squares[static_cast<size_t>(s.*line)] += z * z;
    ++counts[static_cast<size_t>(s.*line)];
  }
  WorstLine worst;
  for (size_t i = 0; i < squares.size(); ++i) {
    if (counts[i] == 0) continue;
    const double over = squares[i] / most_squares(counts[i], correlated);
    if (over <= worst.over) continue;
    worst = {static_cast<int64_t>(i), counts[i], over, squares[i]};
  }
  return worst;
}

// A weighted mean over the elements, which honest rounding keeps near 0.
struct Trend {
  double value = 0, allowed = 0;
  double over() const { return allowed > 0 ? std::abs(value) / allowed : 0; }
};

// The tests, each weighted by 1 / deviation^2.
struct Tests {
  size_t correlated;
  double squares = 0;
  Trend gain, bias;
  double by_gain = 0;  // share of the errors' squares that the gain explains

  Tests(const std::vector<Sample>& samples, const op::RefTensor& reference)
      : correlated(reference.correlated) {
    double by_reference = 0, reference2 = 0, shared_gain = 0, by_one = 0, ones = 0, shared = 0;
    double errors2 = 0;
    for (const Sample& s : samples) {
      const double z = s.excess(), w = 1 / (s.deviation * s.deviation);
      squares += z * z;
      by_reference += w * s.error * s.reference;
      reference2 += w * s.reference * s.reference;
      shared_gain += w * s.systematic * std::abs(s.reference);
      errors2 += w * s.error * s.error;
      by_one += w * s.error;
      ones += w;
      shared += w * s.systematic;
    }
    if (samples.empty()) return;
    const DType dtype = reference.dtype;
    const double tails = op::kTails * std::sqrt(std::min(static_cast<double>(samples.size()),
                                                         static_cast<double>(correlated)));
    // Constants are rounded once for all elements, and the gain of one rounding is not quite 0.
    const double floor = std::max(4 * unit_roundoff(DType::kF32), unit_roundoff(dtype) / 64);
    if (reference2 > 0) {
      gain = {by_reference / reference2,
              shared_gain / reference2 + tails / std::sqrt(reference2) + floor};
    }
    if (reference2 > 0 && errors2 > 0) {
      by_gain = by_reference * by_reference / reference2 / errors2;
    }
    bias = {by_one / ones,
            shared / ones + tails / std::sqrt(ones) + floor * std::sqrt(reference2 / ones)};
  }
  bool passed(int64_t count) const {
    return squares <= most_squares(count, correlated) && gain.over() <= 1 && bias.over() <= 1;
  }
};

double rms_of(double squares, size_t count) {
  return count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count));
}

std::vector<int64_t> histogram_of(const std::vector<Sample>& samples) {
  if (samples.empty()) return {};
  std::vector<int64_t> bins(kErrorBins.size() + 1, 0);
  for (const Sample& s : samples) {
    const auto bin = std::ranges::upper_bound(kErrorBins, s.excess()) - kErrorBins.begin();
    ++bins[static_cast<size_t>(bin)];
  }
  return bins;
}

bool lines_pass(const std::vector<Sample>& samples, size_t correlated) {
  return worst_line(samples, &Sample::row, correlated).line < 0 &&
         worst_line(samples, &Sample::column, correlated).line < 0;
}

}  // namespace

OutputPrecision output_precision(const HostTensor& value, const op::RefTensor& reference,
                                 const Tolerance* tolerance) {
  OutputPrecision result;
  std::vector<Sample> samples = samples_of(value, reference, tolerance);
  const size_t correlated = reference.correlated;
  Tests tests(samples, reference);
  result.elements = std::ssize(samples);
  result.rms = rms_of(tests.squares, samples.size());
  result.gain = tests.gain.value;
  result.bias = tests.bias.value;
  result.histogram = histogram_of(samples);
  if (tests.passed(std::ssize(samples)) && lines_pass(samples, correlated)) {
    return result;
  }
  keep_distinct(samples);
  tests = Tests(samples, reference);
  const auto count = std::ssize(samples);
  if (tests.squares > most_squares(count, correlated)) {
    result.where = "all elements";
    result.factor = rms_of(tests.squares, samples.size());
  }
  const WorstLine row = worst_line(samples, &Sample::row, correlated);
  const WorstLine column = worst_line(samples, &Sample::column, correlated);
  // One line may be all that is wrong.
  for (const auto& [line, name] : {std::pair(&row, "row "), std::pair(&column, "column ")}) {
    const bool others_too =
        tests.squares - line->squares > most_squares(count - line->count, correlated);
    if (line->line < 0 || line->count == count || (others_too && !result.where.empty())) continue;
    result.where = name + std::to_string(line->line);
    result.factor = line->rms();
  }
  if (result.where.empty()) {
    for (const auto& [trend, name] :
         {std::pair(&tests.gain, kGain), std::pair(&tests.bias, kBias)}) {
      if (trend->over() <= 1) continue;
      result.where = name;
      result.factor = trend->over();
      break;
    }
  } else if (tests.gain.over() > 1 && tests.by_gain > kMostlyGain) {
    result.cause = "a factor of " + number_text("%.8g", 1 + tests.gain.value);
  }
  return result;
}

std::vector<double> widest_honest_histogram(int64_t elements) {
  std::vector<double> bins;
  double below = 0;
  for (const double end : kErrorBins) {
    const double share = std::erf(end / std::numbers::sqrt2);
    bins.push_back((share - below) * static_cast<double>(elements));
    below = share;
  }
  bins.push_back((1 - below) * static_cast<double>(elements));
  return bins;
}

std::span<const SuspectedCause> suspected_causes() {
  using enum op::ProductFormat;
  static constexpr std::array kCauses = {
      SuspectedCause{"activations rounded to f16 or TF32", {kF16, kExact, kExact}},
      // TF32 by rounding has the same digits.
      SuspectedCause{"operands rounded to f16 or TF32", {kF16, kF16, kExact}},
      SuspectedCause{"products rounded to f16", {kExact, kExact, kF16}},
      SuspectedCause{"operands and products rounded to f16", {kF16, kF16, kF16}},
      SuspectedCause{"activations rounded to bf16", {kBF16, kExact, kExact}},
      SuspectedCause{"operands rounded to bf16", {kBF16, kBF16, kExact}},
      SuspectedCause{"operands truncated to TF32", {kTF32Truncated, kTF32Truncated, kExact}},
  };
  return kCauses;
}

bool CauseFit::found() const {
  return deviation > 0 && slope > 0.5 && slope < 1.5 && slope > 6 * deviation;
}

CauseFit fit_cause(const HostTensor& value, const op::RefTensor& reference,
                   const op::RefTensor& under_cause) {
  // Weighted least squares: error = slope * (under_cause - reference) + gain * reference.
  double cc = 0, cr = 0, rr = 0, ce = 0, re = 0, ee = 0, cccc = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < value.size(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (!reference.wants(at) || !under_cause.wants(at)) continue;
    const double deviation = reference.deviation.empty() ? 0 : reference.deviation[at];
    const double r = reference.values[at], c = under_cause.values[at] - r;
    const double e = value.at_f64(i) - r;
    if (deviation == 0 || !std::isfinite(c) || !std::isfinite(e)) continue;
    const double w = 1 / (deviation * deviation);
    cc += w * c * c;
    cccc += w * c * c * w * c * c;
    cr += w * c * r;
    rr += w * r * r;
    ce += w * c * e;
    re += w * r * e;
    ee += w * e * e;
    ++count;
  }
  const double determinant = cc * rr - cr * cr;
  // Without an effect of its own, the cause cannot be told from a gain.
  if (count < 16 || cc == 0 || determinant <= 1e-9 * cc * rr) return {};
  // One element with most of the effect agrees with a cause by chance.
  if (cc * cc < kFewestEffects * cccc) return {};
  CauseFit fit;
  fit.slope = (ce * rr - re * cr) / determinant;
  const double gain = (re * cc - ce * cr) / determinant;
  const double left = std::max(0.0, ee - fit.slope * ce - gain * re);
  const double own = ee > 0 ? left / ee : 1;
  // Of correlated errors, fewer are independent.
  const double together =
      std::min(static_cast<double>(count), static_cast<double>(reference.correlated));
  fit.deviation = std::sqrt(left * together / static_cast<double>(count - 2) * rr / determinant);
  // An exact fit has no deviation of its own; f64 has.
  fit.deviation = std::max(fit.deviation, 1e-12);
  // What the cause explains beyond the gain.
  const double by_gain = rr > 0 && ee > 0 ? re * re / rr / ee : 0;
  fit.explained = 1 - own - by_gain;
  return fit;
}

std::string precision_text(const OutputPrecision& precision) {
  if (precision.passed()) return "";
  const std::string times = number_text("%.3g", precision.factor) + " times ";
  std::string text;
  if (precision.where == kGain) {
    text = "multiplied by " + number_text("%.8g", 1 + precision.gain) + ", " + times +
           "what rounding allows";
  } else if (precision.where == kBias) {
    text = "off by " + number_text("%.3g", precision.bias) + " on average, " + times +
           "what rounding allows";
  } else if (precision.where == kShape) {
    text = "errors of the size of honest rounding, but not of its shape";
  } else {
    text = "errors " + times + "those of honest rounding in " + precision.where;
  }
  if (!precision.cause.empty()) text += "; likely cause: " + precision.cause;
  return text;
}

}  // namespace tapml::topdown
