// The types in which a model computes and keeps its cache.
#pragma once

#include <optional>
#include <string>

#include "tensor/dtype.h"

namespace tapml::models {

// Without a choice activations are f32, or what a quantization says, and the KV cache has their
// type. Sums and statistics are accumulated in f32, but the sums of linear layers may be kept in
// f16 if that is chosen (docs/semantics.md).
struct Precision {
  std::optional<DType> activations, cache;  // f32, f16 or bf16
  std::optional<DType> accumulation;        // f32 or f16, f16 with activations in f16
  // Whether the inputs of linear layers with quantized weights are quantized, too, where they are
  // multiplied: to eight bits, in the groups of the weights. Required: a model without such weights
  // is refused.
  bool quantized_inputs = false, requires_quantized_inputs = false;
};

// From option texts, empty ones without a choice; `inputs` may also be "auto", which quantizes
// inputs if `multiplies_bytes`, as the empty text does. UserError that names `--activations`,
// `--kv-cache`, `--accumulation` or `--quantize-activations`.
Precision parse_precision(const std::string& activations, const std::string& cache,
                          const std::string& accumulation = "", const std::string& inputs = "",
                          bool multiplies_bytes = false);

}  // namespace tapml::models
