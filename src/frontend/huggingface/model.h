// Hugging Face model directories.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontend/huggingface/config.h"
#include "ir/module.h"
#include "tensor/host_tensor.h"

namespace tapml::frontend {

struct HuggingFaceModel {
  HuggingFaceConfig config;
  Module module;  // as models/ builds it: architecture contract 7
  // By name, every one of the model interface; views of the mapped files. Empty after read_config.
  std::map<std::string, HostTensor> weights;
  std::vector<int32_t> eos;    // tokens that end a text; may be empty
  std::string tokenizer_path;  // of tokenizer.json; empty after read_config
  std::vector<std::string> warnings;
};

// Reads config.json, generation_config.json where there is one, and the weights; the tokenizer is
// only named. UserError for whatever is missing, broken or not supported.
HuggingFaceModel read_model(const std::string& folder);

// Only the Module of a config.json: compiling needs no weights. Their dtype is the configuration's.
HuggingFaceModel read_config(const std::string& config_path);

}  // namespace tapml::frontend
