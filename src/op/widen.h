// Elements of narrow dtypes as f64.
#pragma once

#include <cstddef>

#include "tensor/dtype.h"

namespace tapml::op {

// Whether widen() reads elements of `dtype`.
bool can_widen(DType dtype);
// Widens `count` adjacent elements of `dtype`; `from` is aligned to the dtype.
void widen(DType dtype, const void* from, size_t count, double* to);

}  // namespace tapml::op
