// Memory for tensors whose bytes are all about to be written.
#pragma once

#include "tensor/host_tensor.h"

namespace tapml {

// Like HostTensor::zeros(), but the bytes are unspecified; the padding after them is zero.
// Throws std::bad_alloc for more bytes than the machine has.
HostTensor uninitialized_tensor(DType dtype, Shape shape);

}  // namespace tapml
