// Resolves indices in tensors, for references.
#pragma once

#include <optional>

#include "op/reference/helpers.h"

namespace tapml::op::reference {

// The position in [0, extent) of `index`, which counts from the end if negative.
inline std::optional<size_t> resolve(int64_t index, size_t extent) {
  auto size = static_cast<int64_t>(extent);
  if (index < 0) index += size;
  if (index < 0 || index >= size) return std::nullopt;
  return static_cast<size_t>(index);
}

// Tuples of indices [..., q] into the first q dimensions of a tensor of `shape`; a slice spans the
// other dimensions.
struct TupleReader {
  TupleReader(const RefTensor& tuples, const Shape& shape) : indices(tuples) {
    depth = static_cast<size_t>(tuples.shape.back());
    for (size_t d = 0; d + 1 < tuples.shape.size(); ++d) {
      count *= static_cast<size_t>(tuples.shape[d]);
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d < depth) {
        extents.push_back(static_cast<size_t>(shape[d]));
      } else {
        inner *= static_cast<size_t>(shape[d]);
      }
    }
  }
  std::optional<size_t> slice(size_t tuple) const {
    size_t number = 0;
    for (size_t d = 0; d < depth; ++d) {
      auto index = resolve(indices.integer(tuple * depth + d), extents[d]);
      if (!index) return std::nullopt;
      number = number * extents[d] + *index;
    }
    return number;
  }
  bool settled(size_t tuple) const {
    for (size_t d = 0; d < depth; ++d) {
      if (indices.bound[tuple * depth + d] > 0) return false;
    }
    return true;
  }

  const RefTensor& indices;
  size_t depth = 0, count = 1, inner = 1;
  std::vector<size_t> extents;
};

}  // namespace tapml::op::reference
