// NumPy's archive of arrays, as numpy.load() reads it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tensor/host_tensor.h"

namespace tapml::topdown {

// The file image of `arrays`, by name, in this order, uncompressed. NumPy has no bf16: such a
// tensor is written as its u16 bits. UserError for more than 4 GiB, the limit of the format.
Result<std::vector<std::byte>> write_npz(
    const std::vector<std::pair<std::string, HostTensor>>& arrays);

}  // namespace tapml::topdown
