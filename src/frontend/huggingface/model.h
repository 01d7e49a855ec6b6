// Hugging Face model directories, and GGUF files in their place.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/work.h"
#include "frontend/huggingface/config.h"
#include "frontend/huggingface/pooling.h"
#include "frontend/huggingface/weights.h"
#include "ir/module.h"
#include "tensor/host_tensor.h"

namespace tapml::frontend {

struct HuggingFaceModel {
  HuggingFaceConfig config;
  Module module;  // as built by models/: architecture contract 7
  // By name, all weights of the model interface; views of the mapped files unless they need
  // conversion. Empty after read_config.
  std::map<std::string, HostTensor> weights;
  std::map<std::string, SourceWeight> sources;  // the source of each weight
  models::QuantizationRef quantization;
  std::map<std::string, models::WeightLayout> layouts;  // of weights that stay as files store them
  std::vector<int32_t> eos;                             // tokens that end a text; may be empty
  // The folder with the files (a snapshot in Hugging Face's cache), or the GGUF file; empty after
  // read_config.
  std::string folder;
  std::vector<std::string> warnings;
};

// Reads config.json, generation_config.json if present, and the weights, but not the tokenizer.
// `folder` may be the root of an entry in Hugging Face's cache, or a GGUF file. With a quantization
// (may be null) linear weights are quantized. `watcher` receives the number of finished weights. An
// encoder pools as the folder's files and `pooling` say. UserError for anything missing, broken or
// unsupported, and for a choice of the pooling of a decoder.
HuggingFaceModel read_model(const std::string& folder,
                            const models::QuantizationRef& quantization = nullptr,
                            const models::Precision& precision = {},
                            const WorkWatcher& watcher = {}, const PoolingChoice& pooling = {});

// Builds only the Module of a config.json, as compiling needs no weights. Dtypes are the
// configuration's.
HuggingFaceModel read_config(const std::string& config_path,
                             const models::QuantizationRef& quantization = nullptr,
                             const models::Precision& precision = {},
                             const PoolingChoice& pooling = {});

}  // namespace tapml::frontend
