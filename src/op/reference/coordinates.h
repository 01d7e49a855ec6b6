// Elements by their coordinates, for references that map each element to its source.
#pragma once

#include "op/reference/helpers.h"

namespace tapml::op::reference {

using Coordinates = std::vector<int64_t>;

// Calls f(element, coordinates) for every element of a tensor of `shape` in row-major order.
template <class F>
void each_element(const Shape& shape, F&& f) {
  auto count = static_cast<size_t>(element_count(shape));
  Coordinates at(shape.size(), 0);
  for (size_t element = 0; element < count; ++element) {
    f(element, static_cast<const Coordinates&>(at));
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
}

// Row-major index of the element at `at`.
inline size_t element_at(const Shape& shape, const Coordinates& at) {
  int64_t element = 0;
  for (size_t d = 0; d < shape.size(); ++d) element = element * shape[d] + at[d];
  return static_cast<size_t>(element);
}

inline size_t counted_from_front(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

// A list of integers among the attributes, which must be present.
inline const std::vector<int64_t>& ints(const AttrMap& attrs, const char* name) {
  return *find_attr<std::vector<int64_t>>(attrs, name);
}

inline int64_t wrapped(int64_t value, int64_t extent) {
  int64_t rest = value % extent;
  return rest < 0 ? rest + extent : rest;
}

}  // namespace tapml::op::reference
