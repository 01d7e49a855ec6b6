// Compares results with the values and bounds of the reference.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "op/reference.h"

namespace tapml::testing {

// Which elements of an output may be open: their bound is infinite, so no result is wrong and a
// test of them cannot fail. A test has none unless it names the reason, and how many.
class OpenElements {
 public:
  OpenElements() = default;
  // At most `share` of the elements of an output, because of `reason`.
  OpenElements(std::string reason, double share) : reason_(std::move(reason)), share_(share) {}

  // Null if `count` of `size` elements may be open; else the problem.
  std::optional<std::string> problem(int64_t count, int64_t size) const {
    if (static_cast<double>(count) <= share_ * static_cast<double>(size)) return std::nullopt;
    std::string text = std::to_string(count) + " of " + std::to_string(size) +
                       " elements have an infinite bound, which no result exceeds";
    if (!reason_.empty()) {
      text += "; at most " + std::to_string(share_) + " of them may: " + reason_;
    }
    return text;
  }

 private:
  std::string reason_;
  double share_ = 0;
};

// The first problem of `found` as a message: an element outside its bound, a NaN or an infinity in
// another place than the reference's, or open elements beyond those of `open`. `worst`, if given,
// becomes the largest ratio of an error to its bound.
inline std::optional<std::string> outside_bound(const HostTensor& found,
                                                const op::RefTensor& expected,
                                                const OpenElements& open = {},
                                                double* worst = nullptr) {
  if (found.shape() != expected.shape || found.dtype() != expected.dtype) {
    return std::string("is ") + dtype_name(found.dtype()) + shape_to_string(found.shape()) +
           ", expected " + dtype_name(expected.dtype) + shape_to_string(expected.shape);
  }
  int64_t open_count = 0;
  for (int64_t i = 0; i < found.size(); ++i) {
    const auto at = static_cast<size_t>(i);
    const double actual = found.at_f64(i), value = expected.values[at], bound = expected.bound[at];
    if (!(bound < std::numeric_limits<double>::infinity())) {
      ++open_count;
      continue;
    }
    if (!expected.integers.empty() && bound == 0 &&
        found.values<int64_t>()[at] != expected.integers[at]) {
      return "element " + std::to_string(i) + " is " + std::to_string(found.values<int64_t>()[at]) +
             ", expected " + std::to_string(expected.integers[at]);
    }
    if (actual == value || (std::isnan(actual) && std::isnan(value))) continue;
    const double error = std::fabs(actual - value);
    if (error <= bound) {
      if (worst) *worst = std::max(*worst, error / bound);
      continue;
    }
    char text[160];
    snprintf(text, sizeof text, "element %lld is %.9g, expected %.9g within %.3g",
             static_cast<long long>(i), actual, value, bound);
    return text;
  }
  return open.problem(open_count, found.size());
}

}  // namespace tapml::testing
