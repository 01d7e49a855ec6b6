// Where tensors may begin inside of a buffer.
#pragma once

#include <cstdint>

namespace tapml {

// Tensors that share a buffer begin at multiples of this many bytes: the strictest alignment that a
// platform asks of a binding.
inline constexpr int64_t kTensorAlignment = 256;

}  // namespace tapml
