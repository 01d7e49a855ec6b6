#include "op/reference/helpers.h"

#include <algorithm>

#include "op/reference/repetition.h"

namespace tapml::op::reference {

double compute_unit(DType dtype) { return unit_roundoff(accumulation_dtype(dtype)); }

double underflow(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 0x1p-24;
    case DType::kBF16:
    case DType::kF32:
      return 0x1p-126;
    case DType::kF64:
      return 0x1p-1022;
    default:
      return 0;
  }
}

double largest(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 65504;
    case DType::kBF16:
      return 0x1.fep127;
    case DType::kF32:
      return 0x1.fffffep127;
    case DType::kF64:
      return std::numeric_limits<double>::max();
    default:
      return kInfinity;
  }
}

bool overflows(double sum, double unit) {
  return unit > unit_roundoff(DType::kF64) && sum > 0.99 * largest(DType::kF32);
}

double lowest_value(DType dtype) {
  if (is_float(dtype)) return -kInfinity;
  return is_signed_integer(dtype) ? -std::ldexp(1.0, dtype_bits(dtype) - 1) : 0;
}

double highest_value(DType dtype) {
  if (is_float(dtype)) return kInfinity;
  if (dtype == DType::kBool) return 1;
  return std::ldexp(1.0, dtype_bits(dtype) - (is_signed_integer(dtype) ? 1 : 0)) - 1;
}

namespace {

// Makes room for the parts of errors beside their bounds: until now only bounds were known.
void begin_parts(RefTensor& out) {
  if (!out.systematic.empty()) return;
  out.systematic = out.bound;
  out.deviation.assign(out.values.size(), 0);
}

// Sets the parts of an error beside its bound.
void put_parts(RefTensor& out, size_t i, double systematic, double deviation) {
  begin_parts(out);
  out.systematic.set(i, systematic);
  out.deviation.set(i, deviation);
}

}  // namespace

void allocate_parts(RefTensor& out) {
  if (is_float(out.dtype)) begin_parts(out);
  out.values.allocate();
  for (RefBounds* part : {&out.bound, &out.systematic, &out.deviation}) part->allocate();
}

void put_bound(RefTensor& out, size_t i, double bound) {
  out.bound.set(i, std::isnan(bound) ? kInfinity : bound);
  put_parts(out, i, out.bound[i], 0);
}

void put_exact(RefTensor& out, size_t i, double value, Error error) {
  out.set_value(i, value);
  out.bound.set(i, std::isnan(error.bound) ? kInfinity : error.bound);
  put_parts(out, i, error.systematic, std::sqrt(error.variance));
}

Storage::Storage(DType dtype)
    : rounds(is_float(dtype)),
      unit(rounds ? unit_roundoff(dtype) : 0),
      limit(dtype == DType::kF64 ? kInfinity : largest(dtype) * (1 + unit / 2)),
      underflow(reference::underflow(dtype)),
      factor(dtype == DType::kF64 ? 2 : 1) {}

void put(RefTensor& out, size_t i, double value, Error full) {
  const Element element = stored(out.dtype, value, full);
  put_exact(out, i, element.value, element.error);
}

void put_moved(RefTensor& out, size_t i, const RefTensor& from, size_t j) {
  bool rounds = is_float(out.dtype) && unit_roundoff(out.dtype) > unit_roundoff(from.dtype);
  bool f16_range = out.dtype == DType::kF16 && from.dtype == DType::kBF16;
  if (rounds || f16_range) {
    put(out, i, from.values[j], error_of(from, j));
  } else {
    put_exact(out, i, from.values[j], error_of(from, j));
    if (!out.integers.empty() && !from.integers.empty()) out.integers[i] = from.integers[j];
  }
}

void put_integer(RefTensor& out, size_t i, int64_t value, double bound) {
  out.set_integer(i, value);
  out.bound.set(i, std::isnan(bound) ? kInfinity : bound);
}

bool is_exact(const RefTensor& tensor) { return tensor.bound.all_zero(); }

std::vector<int64_t> row_major_strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

std::vector<int64_t> broadcast_strides(const Shape& from, const Shape& to) {
  std::vector<int64_t> own = row_major_strides(from);
  std::vector<int64_t> strides(to.size(), 0);
  size_t missing = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d) strides[missing + d] = from[d] == 1 ? 0 : own[d];
  return strides;
}

AxisView::AxisView(const Shape& shape, int64_t axis) {
  auto at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis);
  for (size_t d = 0; d < shape.size(); ++d) {
    (d < at ? outer : d == at ? extent : inner) *= static_cast<size_t>(shape[d]);
  }
}

Error softmax_row(std::vector<double>& scores, std::vector<Error>& errors, double unit,
                  double division, double repetition) {
  double peak = -kInfinity;
  for (double score : scores) peak = std::max(peak, score);
  double total = 0;
  SumRounding rounding;
  Repetition repeated;
  for (size_t k = 0; k < scores.size(); ++k) {
    double shifted = scores[k] - peak;
    // The difference is rounded before exp magnifies the error.
    errors[k].bound += kRoundFactor * unit * std::fabs(shifted);
    errors[k].variance += rounding_variance(unit, shifted);
    scores[k] = std::exp(shifted);
    total += scores[k];
    rounding.add(scores[k]);
    repeated.add(scores[k]);
  }
  const double sum_variance = rounding.variance(unit, repeated.factor()) / (total * total);
  double least_total = 0;
  Error shared;
  for (size_t k = 0; k < scores.size(); ++k) {
    scores[k] /= total;
    if (scores[k] == 0) continue;
    least_total += scores[k] * std::exp(-errors[k].bound);
    shared.systematic += scores[k] * errors[k].systematic;
    shared.variance += scores[k] * scores[k] * errors[k].variance;
  }
  // Of the total: its exponentials and the roundings of their sum.
  shared = Error::of(shared.systematic + kMathFactor * unit,
                     shared.variance * repetition + sum_variance);
  const double own = (kMathFactor + division) * unit + kTails * std::sqrt(sum_variance);
  for (size_t k = 0; k < scores.size(); ++k) {
    Error& error = errors[k];
    double growth = std::exp(error.bound) / least_total * (1 + own) - 1;
    double bound = scores[k] == 0 && std::isfinite(growth) ? 0 : std::min(1.0, scores[k] * growth);
    if (std::isnan(bound)) bound = 1;
    // exp and the division; beyond small errors, exp is not linear.
    const double systematic =
        scores[k] * (std::expm1(error.systematic) + (kMathFactor + division) * unit);
    const bool linear = error.systematic + kTails * std::sqrt(error.variance) < 0.1;
    error = linear ? Error{bound, systematic, scores[k] * scores[k] * error.variance}
                   : Error::within(bound);
  }
  return shared;
}

}  // namespace tapml::op::reference
