// Hugging Face model directories.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/work.h"
#include "frontend/huggingface/config.h"
#include "frontend/huggingface/weights.h"
#include "ir/module.h"
#include "tensor/host_tensor.h"

namespace tapml::frontend {

struct HuggingFaceModel {
  HuggingFaceConfig config;
  Module module;  // as models/ builds it: architecture contract 7
  // By name, every one of the model interface; views of the mapped files where nothing has to be
  // made of them. Empty after read_config.
  std::map<std::string, HostTensor> weights;
  std::map<std::string, SourceWeight> sources;  // what these were made of
  const models::Quantization* quantization = nullptr;
  std::vector<int32_t> eos;  // tokens that end a text; may be empty
  // Where the files are (a snapshot of Hugging Face's cache); empty after read_config.
  std::string folder;
  std::vector<std::string> warnings;
};

// Reads config.json, generation_config.json where there is one, and the weights; not the
// tokenizer. `folder` may be the root of an entry in Hugging Face's cache. With a quantization (may
// be null) linear weights are quantized. `watcher` is reported how many weights are made. UserError
// for whatever is missing, broken or not supported.
HuggingFaceModel read_model(const std::string& folder,
                            const models::Quantization* quantization = nullptr,
                            const models::Precision& precision = {},
                            const WorkWatcher& watcher = {});

// Only the Module of a config.json: compiling needs no weights. Their dtype is the configuration's.
HuggingFaceModel read_config(const std::string& config_path,
                             const models::Quantization* quantization = nullptr,
                             const models::Precision& precision = {});

}  // namespace tapml::frontend
