// Alignment of tensors within a buffer.
#pragma once

#include <cstdint>

namespace tapml {

// Tensors that share a buffer begin at multiples of this many bytes: the strictest alignment that
// any platform requires of a binding.
inline constexpr int64_t kTensorAlignment = 256;

}  // namespace tapml
