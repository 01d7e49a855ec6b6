// Weight files of Hugging Face model directories.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/weights.h"
#include "tensor/host_tensor.h"

namespace tapml::frontend {

struct LoadedWeights {
  std::map<std::string, HostTensor> tensors;  // views of the mapped files
  std::vector<std::string> warnings;          // one sentence each
};

// Maps model.safetensors, or the shards that model.safetensors.index.json names, and picks the
// tensors of `wanted`; nothing is copied. UserError for files that are missing or broken, a weight
// that is missing or has another shape, and a dtype other than f32, f16 and bf16. Tensors that
// nobody wants are a warning, except those of `ignored`.
LoadedWeights load_weights(const std::string& folder, const std::vector<models::WeightSpec>& wanted,
                           const std::vector<std::string>& ignored = {});

}  // namespace tapml::frontend
