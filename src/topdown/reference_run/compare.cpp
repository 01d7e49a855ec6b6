#include "topdown/reference_run/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/rounding.h"
#include "topdown/reference_run/allowed.h"

namespace tapml::topdown {

namespace {

// Distance between neighboring values of `dtype` at `value`.
double spacing(double value, DType dtype) {
  double u = unit_roundoff(dtype);
  if (u == 0) return 1;
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(2 * u, exponent - 1);
}

// A truth value that is neither 0 nor 1 is as wrong as its byte is far from them.
double number_at(const HostTensor& tensor, int64_t element) {
  if (tensor.dtype() != DType::kBool) return tensor.at_f64(element);
  return std::to_integer<int>(tensor.bytes()[static_cast<size_t>(element)]);
}

}  // namespace

bool is_open(const op::RefTensor& reference, int64_t element) {
  const double bound = reference.bound[static_cast<size_t>(element)];
  return std::isinf(bound) || (reference.dtype == DType::kBool && bound >= 1);
}

ElementError element_error(const HostTensor& value, const op::RefTensor& reference, int64_t element,
                           const Slack& slack, const Tolerance* tolerance) {
  ElementError result;
  const auto at = static_cast<size_t>(element);
  const double v = number_at(value, element), j = reference.values[at];
  // Any value is right.
  if (std::isinf(reference.bound[at])) {
    result.finite = std::isfinite(v) && std::isfinite(j);
    result.bound = reference.bound[at];
    if (result.finite) result.error = std::abs(v - j);
    return result;
  }
  if (std::isnan(v) != std::isnan(j) || std::isinf(v) != std::isinf(j) ||
      (std::isinf(v) && v != j)) {
    result.mask_mismatch = true;
    return result;
  }
  result.finite = std::isfinite(v);
  if (!result.finite) return result;
  result.error = std::abs(v - j);
  // Differences too small for a double count as one at least.
  if (!reference.integers.empty() && value.values<int64_t>()[at] != reference.integers[at]) {
    result.error = std::max(result.error, 1.0);
  }
  result.bound = reference.bound[at] + slack.at(element);
  if (tolerance) result.bound = tolerance->factor * result.bound + tolerance->absolute;
  result.ratio = result.error == 0  ? 0
                 : result.bound > 0 ? result.error / result.bound
                                    : std::numeric_limits<double>::infinity();
  return result;
}

Slack::Slack(const HostTensor& source, const op::RefTensor& reference) {
  width_ = source.shape().empty() ? 1 : std::max<int64_t>(1, source.shape().back());
  rows_.assign(static_cast<size_t>(ceil_div(source.size(), width_)), 0);
  const double rounding = unit_roundoff(reference.dtype);
  for (int64_t i = 0; i < source.size(); ++i) {
    const auto at = static_cast<size_t>(i);
    if (!reference.wants(at) || std::isinf(reference.bound[at])) continue;
    const double error = std::abs(number_at(source, i) - reference.values[at]);
    double& row = rows_[static_cast<size_t>(i / width_)];
    if (std::isfinite(error)) {
      row = std::max(row, 4 * (error - rounding * std::abs(reference.values[at])));
    }
  }
}

Errors measure(const HostTensor& value, const op::RefTensor& reference, const Slack& slack,
               const Tolerance* tolerance) {
  Errors errors;
  double dot = 0, norm_value = 0, norm_reference = 0, squared = 0;
  const int64_t size = value.size();
  for (int64_t i = 0; i < size; ++i) {
    if (!reference.wants(static_cast<size_t>(i))) continue;
    ++errors.compared;
    errors.open += is_open(reference, i);
    const ElementError one = element_error(value, reference, i, slack, tolerance);
    if (one.mask_mismatch) {
      ++errors.mask_mismatches;
      errors.worst = errors.worst < 0 ? i : errors.worst;
      continue;
    }
    if (!one.finite) continue;
    if (errors.worst < 0 || one.ratio > errors.max_ratio) {
      errors.max_ratio = one.ratio;
      errors.bound_at_max = one.bound;
      errors.worst = i;
    }
    const double v = value.at_f64(i), j = reference.values[static_cast<size_t>(i)];
    errors.max_abs = std::max(errors.max_abs, one.error);
    dot += v * j;
    norm_value += v * v;
    norm_reference += j * j;
    if (one.error == 0) continue;
    if (j != 0) errors.max_relative = std::max(errors.max_relative, one.error / std::abs(j));
    errors.max_ulp = std::max(errors.max_ulp, one.error / spacing(j, reference.dtype));
    squared += one.error * one.error;
  }
  if (norm_value > 0 && norm_reference > 0)
    errors.cosine = dot / std::sqrt(norm_value * norm_reference);
  if (norm_reference > 0) errors.nmse = squared / norm_reference;
  errors.precision = output_precision(value, reference, tolerance);
  return errors;
}

bool within_bound(const Errors& errors) {
  return errors.max_ratio <= 1 && errors.mask_mismatches == 0;
}

bool is_right(const Errors& errors) { return within_bound(errors) && errors.precision.passed(); }

SourceResult source_result(const HostTensor& source, const op::RefTensor& reference,
                           const op::RefTensor* allowed) {
  SourceResult result;
  result.errors = measure(source, reference, {});
  if (is_right(result.errors)) {
    result.slack = Slack(source, reference);
  } else if (allowed != nullptr) {
    result.errors = measure(source, *allowed, {});
  }
  return result;
}

Comparison compare(const HostTensor& target, const HostTensor& source,
                   const op::RefTensor& reference, const Tolerance* tolerance) {
  return compare(target, source_result(source, reference), reference, tolerance);
}

Comparison compare(const HostTensor& target, const SourceResult& source,
                   const op::RefTensor& reference, const Tolerance* tolerance) {
  Comparison result;
  result.source = source.errors;
  result.slack = source.slack;
  result.target = measure(target, reference, result.slack, tolerance);
  result.allowed = result.target.bound_at_max;
  settle(result);
  result.tolerated =
      tolerance && result.target_ok && !is_right(measure(target, reference, result.slack));
  return result;
}

Comparison compare_allowed(const HostTensor& target, const HostTensor& source,
                           const ReferenceWith& reference, const Allowances& target_allowances,
                           const Allowances& source_allowances, const Tolerance* tolerance) {
  const op::RefTensor& honest = reference({});
  SourceResult own = source_result(source, honest);
  if (!is_right(own.errors) && source_allowances.any()) {
    own = source_result(source, honest, &reference(source_allowances));
  }
  Comparison result = compare(target, own, honest, tolerance);
  for (const Allowances& allowances : allowances_to_try(target_allowances)) {
    if (result.target_ok) break;
    result = compare(target, own, reference(allowances), tolerance);
    result.allowances = allowances;
  }
  return result;
}

void settle(Comparison& comparison) {
  comparison.target_ok = is_right(comparison.target);
  comparison.outcome = !within_bound(comparison.target) ? Outcome::kFail
                       : !comparison.target_ok          ? Outcome::kImprecise
                       : !is_right(comparison.source)   ? Outcome::kSourceWrong
                                                        : Outcome::kPass;
}

bool is_worse(const Comparison& a, const Comparison& b) {
  auto badness = [](const Comparison& one) {
    const bool source = one.outcome == Outcome::kSourceWrong;
    const Errors& errors = source ? one.source : one.target;
    const int rank = one.outcome == Outcome::kFail        ? 3
                     : one.outcome == Outcome::kImprecise ? 2
                     : source                             ? 1
                                                          : 0;
    return std::tuple(rank, errors.mask_mismatches,
                      rank == 2 ? errors.precision.factor : errors.max_ratio);
  };
  return badness(a) > badness(b);
}

}  // namespace tapml::topdown
