// Positions of a sliding window, from an operator's attributes.
#pragma once

#include "op/reference/helpers.h"

namespace tapml::op::reference {

struct Sliding {
  std::vector<int64_t> strides, dilation, before, after;

  Sliding(const AttrMap& attrs, size_t rank, const std::vector<int64_t>& default_strides = {})
      : strides(entries(attrs, "strides", rank, 1)), dilation(entries(attrs, "dilation", rank, 1)) {
    const auto* given = find_attr<std::vector<int64_t>>(attrs, "strides");
    if ((!given || given->empty()) && !default_strides.empty()) strides = default_strides;
    before = entries(attrs, "padding", rank, 0);
    after = before;
    if (before.size() == 2 * rank) {
      after.erase(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(rank));
      before.resize(rank);
    }
  }

  // Position of element `tap` of window `at`, in elements of the unpadded tensor.
  int64_t position(size_t d, int64_t at, int64_t tap) const {
    return at * strides[d] + tap * dilation[d] - before[d];
  }

  static std::vector<int64_t> entries(const AttrMap& attrs, const char* name, size_t rank,
                                      int64_t fallback) {
    const auto* given = find_attr<std::vector<int64_t>>(attrs, name);
    return given && !given->empty() ? *given : std::vector<int64_t>(rank, fallback);
  }
};

// Advances to the next index of `shape` in row-major order.
inline void advance(std::vector<int64_t>& index, const Shape& shape) {
  for (size_t d = shape.size(); d-- > 0;) {
    if (++index[d] < shape[d]) return;
    index[d] = 0;
  }
}

}  // namespace tapml::op::reference
