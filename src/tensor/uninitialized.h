// Memory for tensors of which every byte is about to be written.
#pragma once

#include "tensor/host_tensor.h"

namespace tapml {

// As HostTensor::zeros(), with bytes of unspecified value; the padding behind them is zero.
HostTensor uninitialized_tensor(DType dtype, Shape shape);

}  // namespace tapml
