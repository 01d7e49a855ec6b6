#include "fuzz/oracles/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tapml::fuzz {

namespace {

std::string element_text(size_t element, double expected, double found, double bound) {
  char text[160];
  std::snprintf(text, sizeof text, "element %zu is %.9g, expected %.9g within %.3g", element, found,
                expected, bound);
  return text;
}

std::string compare(const op::RefTensor& expected, const op::RefTensor& found, Tally& tally) {
  if (expected.dtype != found.dtype || expected.shape != found.shape) {
    return std::string("is ") + dtype_name(found.dtype) + shape_to_string(found.shape) +
           ", expected " + dtype_name(expected.dtype) + shape_to_string(expected.shape);
  }
  tally.all += static_cast<int64_t>(expected.values.size());
  for (size_t i = 0; i < expected.values.size(); ++i) {
    const double a = expected.values[i], b = found.values[i];
    const double bound = expected.bound[i] + found.bound[i];
    if (!std::isfinite(bound)) {
      ++tally.open;
      continue;
    }
    if (bound == 0 && !expected.integers.empty() && !found.integers.empty() &&
        expected.integers[i] != found.integers[i]) {
      return "element " + std::to_string(i) + " is " + std::to_string(found.integers[i]) +
             ", expected " + std::to_string(expected.integers[i]);
    }
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    // Another order of operations gives the same result up to the rounding of f64.
    if (std::fabs(a - b) <= bound + 1e-12 * std::max(std::fabs(a), std::fabs(b))) continue;
    return element_text(i, a, b, bound);
  }
  return "";
}

}  // namespace

std::string difference(const interp::Value& expected, const interp::Value& found, Tally& tally) {
  if (expected.data.index() != found.data.index()) return "is another kind of value";
  if (std::holds_alternative<op::RefTensor>(expected.data)) {
    return compare(expected.as_tensor(), found.as_tensor(), tally);
  }
  if (std::holds_alternative<std::vector<int64_t>>(expected.data)) {
    if (expected.as_shape() == found.as_shape()) return "";
    return "is " + shape_to_string(found.as_shape()) + ", expected " +
           shape_to_string(expected.as_shape());
  }
  if (const auto* number = std::get_if<int64_t>(&expected.data)) {
    const int64_t other = std::get<int64_t>(found.data);
    if (*number == other) return "";
    return "is " + std::to_string(other) + ", expected " + std::to_string(*number);
  }
  if (const auto* scalar = std::get_if<interp::Scalar>(&expected.data)) {
    const auto& other = std::get<interp::Scalar>(found.data);
    const bool same = scalar->dtype == other.dtype && scalar->integer == other.integer &&
                      (scalar->number == other.number ||
                       (std::isnan(scalar->number) && std::isnan(other.number)));
    return same ? "" : "is another scalar";
  }
  if (std::holds_alternative<interp::FunctionValue>(expected.data)) return "";
  const interp::ValueList& fields = expected.as_tuple();
  const interp::ValueList& others = found.as_tuple();
  if (fields.size() != others.size()) return "has another number of fields";
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string field = difference(fields[i], others[i], tally);
    if (!field.empty()) return "field " + std::to_string(i) + ": " + field;
  }
  return "";
}

std::string difference_kind(const std::string& difference) {
  const size_t at = difference.find("element ");
  double found = 0, expected = 0;
  const bool numbers = at != std::string::npos &&
                       std::sscanf(difference.c_str() + at, "element %*u is %lf, expected %lf",
                                   &found, &expected) == 2;
  if (!numbers) return difference.find("expected") != std::string::npos ? "type" : "";
  if (std::isnan(found) || std::isnan(expected)) return "NaN";
  if (std::isinf(found) || std::isinf(expected)) return "infinity";
  constexpr double kRounding = 0.01;
  if (std::fabs(found - expected) < kRounding * std::fabs(expected)) return "rounding";
  return "values";
}

}  // namespace tapml::fuzz
