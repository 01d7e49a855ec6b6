// Weights of files as groups of four-bit integers.
#pragma once

#include <span>
#include <string>

#include "models/quantization.h"
#include "tensor/host_tensor.h"

namespace tapml::frontend {

struct QuantizedWeight {
  HostTensor packed, scales;  // what models::Quantization says
};

// The weight of `spec` from its parts in order (one, where files keep it whole), of f32, f16 or
// bf16, each group by quantize_group(), stored plus 8.
// Row by row: besides the result there is memory for one row. UserError, with `file`, for what is
// not finite, and for a scale that its dtype cannot hold.
QuantizedWeight quantize_weight(const models::WeightSpec& spec, std::span<const HostTensor> parts,
                                const models::Quantization& quantization, const std::string& file);

}  // namespace tapml::frontend
