// Weight files of Hugging Face model directories.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/work.h"
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

// The tensors of a model folder.
struct WeightFiles {
  std::string folder;
  std::map<std::string, HostTensor> tensors;          // by the name that files give them
  std::map<std::string, std::string> file_of;         // tensor to the file it is in
  std::map<std::string, std::string> unknown_dtypes;  // tensors of dtypes that are not known
  std::vector<std::string> warnings;                  // one sentence each

  // The name that files have for a weight: its own, or that without "model." before it. Empty
  // where there is none.
  std::string stored_name(const std::string& name) const;
};

// Maps model.safetensors, or the shards that model.safetensors.index.json names, or without it a
// whole set of shards. UserError for files that are missing, broken or something else.
WeightFiles open_weights(const std::string& folder);

// Picks the tensors of `wanted`; weights in parts are copied, as are those of experts that files
// have fused in one tensor. With a quantization the linear ones become two tensors each
// (models/quantization.h). Without lm_head.weight among them, that tensor stands in for a missing
// model.embed_tokens.weight. UserError for a weight that is missing or has another shape (`hint`
// then says what may be wrong), a dtype other than f32, f16 and bf16, and what cannot be quantized.
// Tensors that nobody wants are a warning, except those of `ignored`.
LoadedWeights load_weights(const WeightFiles& files, const std::vector<models::WeightSpec>& wanted,
                           const std::vector<std::string>& ignored = {},
                           const models::Quantization* quantization = nullptr,
                           const std::string& hint = "", const WorkWatcher& watcher = {});
LoadedWeights load_weights(const std::string& folder, const std::vector<models::WeightSpec>& wanted,
                           const std::vector<std::string>& ignored = {},
                           const models::Quantization* quantization = nullptr);

}  // namespace tapml::frontend
