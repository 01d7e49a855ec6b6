// Makes the blocks of a GGUF file's tensors.
#pragma once

#include <cstddef>
#include <span>

#include "io/gguf_blocks.h"

namespace tapml {

// Writes elements.size() / type.elements blocks, the inverse of dequantize_gguf(). Elements must be
// finite and make whole blocks. Scales and minimums are searched for: of several for each group
// those count whose values, rounded as the type stores them, have the least error, where the square
// of an element's error weighs as much as its size and the root mean square of its group together.
// Deterministic. Plain types round to nearest even.
void quantize_gguf(const GgufType& type, std::span<const float> elements, std::byte* bytes);

}  // namespace tapml
