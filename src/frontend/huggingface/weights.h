// Weight files of Hugging Face model directories.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/work.h"
#include "frontend/huggingface/quantize.h"
#include "models/weights.h"
#include "tensor/host_tensor.h"

namespace tapml::frontend {

// A weight that files store quantized. What it is made of is made when it is loaded.
struct BlockWeight {
  Shape shape;                     // its rows consist of whole groups of the layout
  std::string type;                // "Q4_K"
  std::vector<HostTensor> stored;  // what makes it, views of the mapped files
  // That keeps its elements exactly; nullopt: there is none, and it is expanded.
  std::optional<models::WeightLayout> layout;
  std::function<QuantizedWeight()> packed;
  std::function<HostTensor()> expanded;  // f32
};

// A weight as stored: its parts in order, or a single tensor, views of the mapped files; or blocks.
struct SourceWeight {
  std::vector<HostTensor> parts;
  std::shared_ptr<const BlockWeight> blocks = nullptr;  // in place of parts

  // Of the elements; f32 of blocks.
  DType dtype() const { return blocks ? DType::kF32 : parts.at(0).dtype(); }
  // content_hash() of the parts as one tensor of `shape`; of blocks, of their bytes and type.
  std::string hash(const Shape& shape) const;
};

struct LoadedWeights {
  std::map<std::string, HostTensor> tensors;    // views of the mapped files, or converted copies
  std::map<std::string, SourceWeight> sources;  // by requested name
  std::map<std::string, models::WeightLayout> layouts;  // of weights that stay quantized
  std::vector<std::string> warnings;                    // one sentence each
};

// The tensors of a model folder.
struct WeightFiles {
  std::string folder;
  std::map<std::string, HostTensor> tensors;                         // by the name in the files
  std::map<std::string, std::shared_ptr<const BlockWeight>> blocks;  // the others
  std::map<std::string, std::string> file_of;                        // file of each tensor
  std::map<std::string, std::string> unknown_dtypes;                 // tensors with unknown dtypes
  std::map<std::string, HostTensor> bytes;  // of these, those with elements of a byte
  std::vector<std::string> warnings;        // one sentence each

  // The name of a weight in the files: its own, or its own without its first component, as in
  // files of the model without a head ("model."), or its own as part of a model that also reads
  // images or sound ("language_model."). Empty if there is none.
  std::string stored_name(const std::string& name) const;
};

// Maps model.safetensors, the shards in model.safetensors.index.json, or a complete set of shards
// without an index; or a GGUF file in place of a folder. Quantized layers become blocks, as
// config.json of the folder says. UserError for files that are missing, broken or of another
// format.
WeightFiles open_weights(const std::string& folder);

// Selects the tensors of `wanted`; weights in parts, and fused expert weights, are copied. With a
// quantization, each linear weight becomes two tensors (models/quantization.h). Without it, blocks
// stay quantized where the model takes them so (WeightSpec); a warning says which others become f32
// and how much memory these take. If the
// head is not wanted, it replaces a missing embedding. UserError for a weight that is
// missing or has the wrong shape (`hint` then gives a possible cause), a dtype other than f32, f16
// and bf16, and a weight that cannot be quantized. Unused tensors cause a warning, except those in
// `ignored`.
LoadedWeights load_weights(const WeightFiles& files, const std::vector<models::WeightSpec>& wanted,
                           const std::vector<std::string>& ignored = {},
                           const models::QuantizationRef& quantization = nullptr,
                           const std::string& hint = "", const WorkWatcher& watcher = {});
LoadedWeights load_weights(const std::string& folder, const std::vector<models::WeightSpec>& wanted,
                           const std::vector<std::string>& ignored = {},
                           const models::QuantizationRef& quantization = nullptr);

}  // namespace tapml::frontend
