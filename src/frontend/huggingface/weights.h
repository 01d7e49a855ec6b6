// Weight files of Hugging Face model directories.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/weights.h"
#include "tensor/host_tensor.h"

namespace tapml::frontend {

// A weight as files have it: its parts in order, or itself. Views of the mapped files.
struct SourceWeight {
  std::vector<HostTensor> parts;

  DType dtype() const { return parts.at(0).dtype(); }
  // content_hash() of the parts as one tensor of `shape`.
  std::string hash(const Shape& shape) const;
};

struct LoadedWeights {
  std::map<std::string, HostTensor> tensors;    // views of the mapped files, or made of them
  std::map<std::string, SourceWeight> sources;  // by the name that is wanted
  std::vector<std::string> warnings;            // one sentence each
};

// Maps model.safetensors, or the shards that model.safetensors.index.json names, and picks the
// tensors of `wanted`; only weights in parts are copied. With a quantization the linear ones become
// two tensors each (models/quantization.h). UserError for files that are missing or broken, a
// weight that is missing or has another shape, a dtype other than f32, f16 and bf16, and what
// cannot be quantized. Tensors that nobody wants are a warning, except those of `ignored`.
LoadedWeights load_weights(const std::string& folder, const std::vector<models::WeightSpec>& wanted,
                           const std::vector<std::string>& ignored = {},
                           const models::Quantization* quantization = nullptr);

}  // namespace tapml::frontend
