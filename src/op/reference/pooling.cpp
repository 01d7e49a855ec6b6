#include "op/reference/pooling.h"

#include <algorithm>

#include "op/reference/repetition.h"
#include "op/reference/sliding.h"

namespace tapml::op::reference {

namespace {

// Positions of one window along one dimension: those inside the input, and the total number of
// positions (padding included).
struct Span {
  std::vector<int64_t> inside;
  int64_t places = 0;
};

using Spans = std::vector<std::vector<Span>>;  // [dimension][window]

// Collects the elements of x in the window at `at` of image-and-channel `line`.
void collect(const Spans& spans, const Shape& in, const std::vector<int64_t>& at, size_t line,
             std::vector<size_t>& elements) {
  elements.assign(1, line);
  for (size_t d = 0; d < in.size(); ++d) {
    std::vector<size_t> next;
    for (size_t base : elements) {
      for (int64_t position : spans[d][static_cast<size_t>(at[d])].inside) {
        next.push_back(base * static_cast<size_t>(in[d]) + static_cast<size_t>(position));
      }
    }
    elements = std::move(next);
  }
}

// Calls f(output element, input elements, places) for each window.
template <class F>
void for_windows(const RefTensor& x, const RefTensor& out, const Spans& spans, F&& f) {
  Shape in(x.shape.begin() + 2, x.shape.end()), to(out.shape.begin() + 2, out.shape.end());
  auto lines = static_cast<size_t>(out.shape[0] * out.shape[1]);
  auto points = static_cast<size_t>(element_count(to));
  std::vector<size_t> elements;
  for (size_t line = 0; line < lines; ++line) {
    std::vector<int64_t> at(to.size(), 0);
    for (size_t p = 0; p < points; ++p, advance(at, to)) {
      if (!out.wants(line * points + p)) continue;
      collect(spans, in, at, line, elements);
      int64_t places = 1;
      for (size_t d = 0; d < to.size(); ++d) places *= spans[d][static_cast<size_t>(at[d])].places;
      f(line * points + p, elements, places);
    }
  }
}

Spans sliding_spans(const AttrMap& attrs, const Shape& x, const Shape& out) {
  size_t rank = x.size() - 2;
  const auto& kernel = *find_attr<std::vector<int64_t>>(attrs, "kernel_size");
  Sliding sliding(attrs, rank, kernel);
  Spans spans(rank);
  for (size_t d = 0; d < rank; ++d) {
    for (int64_t o = 0; o < out[d + 2]; ++o) {
      Span span;
      for (int64_t tap = 0; tap < kernel[d]; ++tap) {
        int64_t position = sliding.position(d, o, tap);
        if (position >= 0 && position < x[d + 2]) span.inside.push_back(position);
        if (position < x[d + 2] + sliding.after[d]) ++span.places;
      }
      spans[d].push_back(span);
    }
  }
  return spans;
}

Spans adaptive_spans(const Shape& x, const Shape& out) {
  Spans spans(x.size() - 2);
  for (size_t d = 0; d < spans.size(); ++d) {
    int64_t in = x[d + 2], parts = out[d + 2];
    for (int64_t o = 0; o < parts; ++o) {
      Span span;
      // Element p belongs to window o if [p, p + 1) and [o, o + 1) * in / parts overlap.
      for (int64_t p = 0; p < in; ++p) {
        if ((p + 1) * parts > o * in && p * parts < (o + 1) * in) span.inside.push_back(p);
      }
      span.places = static_cast<int64_t>(span.inside.size());
      spans[d].push_back(span);
    }
  }
  return spans;
}

double least_value(DType dtype) {
  if (is_float(dtype)) return -kInfinity;
  return is_unsigned_integer(dtype) ? 0 : -std::ldexp(1.0, dtype_bits(dtype) - 1);
}

void largest_of(const RefTensor& x, RefTensor& out, size_t at,
                const std::vector<size_t>& elements) {
  if (!is_float(out.dtype)) {
    int64_t best = 0;
    bool found = false, exact = true;
    double low = -kInfinity, high = -kInfinity;
    for (size_t e : elements) {
      int64_t value = x.integer(e);
      bool more = is_unsigned_integer(x.dtype)
                      ? static_cast<uint64_t>(value) > static_cast<uint64_t>(best)
                      : value > best;
      if (!found || more) best = value;
      found = true;
      exact &= x.bound[e] == 0;
      low = std::max(low, x.values[e] - x.bound[e]);
      high = std::max(high, x.values[e] + x.bound[e]);
    }
    if (found) {
      put_integer(out, at, best);
      const double value = out.values[at];
      if (!exact) out.bound.set(at, std::max(value - low, high - value));
    } else {
      out.set_value(at, least_value(out.dtype));
    }
    return;
  }
  double value = -kInfinity, low = -kInfinity, high = -kInfinity, second = -kInfinity;
  size_t best = 0;
  for (size_t e : elements) {
    if (std::isnan(x.values[e])) return put_exact(out, at, x.values[e], x.bound[e]);
    if (x.values[e] > value) {
      value = x.values[e];
      best = e;
    }
    low = std::max(low, x.values[e] - x.bound[e]);
    second = std::max(second, std::min(high, x.values[e] + x.bound[e]));
    high = std::max(high, x.values[e] + x.bound[e]);
  }
  if (value == high && value == low) return put_exact(out, at, value, 0);
  // No other element may be the largest.
  if (second < value - x.bound[best]) return put_exact(out, at, value, error_of(x, best));
  put_exact(out, at, value, std::max(value - low, high - value));
}

void mean_of(const RefTensor& x, RefTensor& out, size_t at, const std::vector<size_t>& elements,
             double divisor) {
  const double unit = compute_unit(x.dtype);
  double sum = 0;
  Error moved;
  SumRounding rounding;
  Repetition repeated;
  for (size_t e : elements) {
    sum += x.values[e];
    rounding.add(x.values[e]);
    repeated.add(x.values[e]);
    const Error error = error_of(x, e);
    moved.systematic += error.systematic;
    moved.variance += error.variance;
  }
  const double variance = moved.variance + rounding.variance(unit, repeated.factor());
  const double mean = sum / divisor;
  put(out, at, mean,
      Error::of(moved.systematic / divisor + scaled(mean, division_factor(out) * unit),
                variance / (divisor * divisor)));
}

}  // namespace

void max_pool(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  for_windows(x, outputs[0], sliding_spans(attrs, x.shape, outputs[0].shape),
              [&](size_t at, const std::vector<size_t>& elements, int64_t) {
                largest_of(x, outputs[0], at, elements);
              });
}

void avg_pool(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  bool include_pad = attr_or(attrs, "count_include_pad", true);
  for_windows(x, outputs[0], sliding_spans(attrs, x.shape, outputs[0].shape),
              [&](size_t at, const std::vector<size_t>& elements, int64_t places) {
                double count = include_pad ? static_cast<double>(places)
                                           : static_cast<double>(elements.size());
                mean_of(x, outputs[0], at, elements, count);
              });
}

void adaptive_avg_pool(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  for_windows(x, outputs[0], adaptive_spans(x.shape, outputs[0].shape),
              [&](size_t at, const std::vector<size_t>& elements, int64_t places) {
                mean_of(x, outputs[0], at, elements, static_cast<double>(places));
              });
}

void adaptive_max_pool(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  for_windows(x, outputs[0], adaptive_spans(x.shape, outputs[0].shape),
              [&](size_t at, const std::vector<size_t>& elements, int64_t) {
                largest_of(x, outputs[0], at, elements);
              });
}

}  // namespace tapml::op::reference
