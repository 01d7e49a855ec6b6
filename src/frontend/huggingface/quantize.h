// Quantizes weights of files to groups of integers.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "models/quantization.h"
#include "tensor/host_tensor.h"

namespace tapml::frontend {

struct QuantizedWeight {
  HostTensor packed, scales;                // see models::WeightLayout
  std::optional<HostTensor> minimums = {};  // of a layout that has them
  std::optional<HostTensor> order = {};
};

// Quantizes the weight of `spec` from its parts in order (a single one if files store it whole) of
// f32, f16 or bf16, each group with quantize_group(). Works row by row, with memory for one row
// besides the result. UserError, with `file`, for values that are not finite and for a scale that
// its dtype cannot represent.
QuantizedWeight quantize_weight(const models::WeightSpec& spec, std::span<const HostTensor> parts,
                                const models::WeightLayout& layout, const std::string& file);

}  // namespace tapml::frontend
