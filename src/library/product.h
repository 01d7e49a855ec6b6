// Shared by the patterns of matrix products.
#pragma once

#include "library/library.h"
#include "op/operator.h"

namespace tapml::library {

// transpose_a and transpose_b of the kernel's first call, a matmul of matrices; nothing if an
// operand is a vector.
inline std::optional<std::vector<int64_t>> product_parameters(const Matched& kernel) {
  if (kernel.inputs[0].dims.size() < 2 || kernel.inputs[1].dims.size() < 2) return {};
  const AttrMap attrs = kernel.attributes(0);
  return std::vector<int64_t>{attr_or(attrs, "transpose_a", false) ? 1 : 0,
                              attr_or(attrs, "transpose_b", false) ? 1 : 0};
}

}  // namespace tapml::library
