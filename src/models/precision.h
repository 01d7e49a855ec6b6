// The types in which a model computes and keeps its cache.
#pragma once

#include <optional>
#include <string>

#include "tensor/dtype.h"

namespace tapml::models {

// Sums and statistics are accumulated in f32 (docs/semantics.md). Without a choice activations are
// f32, or what a quantization says, and the KV cache has their type.
struct Precision {
  std::optional<DType> activations, cache;  // f32, f16 or bf16
};

// From option texts, empty ones without a choice. UserError that names `--activations` or
// `--kv-cache`.
Precision parse_precision(const std::string& activations, const std::string& cache);

}  // namespace tapml::models
