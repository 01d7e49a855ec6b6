// Runs a model's published implementation (PyTorch and transformers) in a Python process.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/blocks/pooling.h"
#include "tensor/host_tensor.h"

namespace tapml::topdown {

struct PublishedRequest {
  std::string python;  // program; empty: kDefaultPython
  std::string folder;  // the model directory
  std::string name;    // of the model in errors; empty: the folder
  std::vector<int32_t> tokens;
  // Modules whose inputs and outputs are wanted, if the implementation has them.
  std::vector<std::string> paths;
  int64_t parameters = 0;  // elements of all weights
  // Of an encoder: how a vector is made of the text.
  std::optional<models::PoolingConfig> pooling;
  std::chrono::milliseconds longest{600'000};
  std::function<bool()> cancelled;  // polled; may be empty
};

inline constexpr const char* kDefaultPython = "python3";

struct PublishedRun {
  std::string implementation;  // "transformers 5.24.0, torch 2.13.0"
  std::string class_name;      // "LlamaForCausalLM"
  std::string dtype;           // in which it computed: f64, or f32 for a model that is too large
  // Weights that the model directory lacks, which are random in this run.
  std::vector<std::string> missing;
  // f64: "logits" [1, n, vocabulary], or the vector of an encoder [1, 1, d], and of modules that
  // ran once "PATH:input", their first tensor, and "PATH:output:0", "PATH:output:1", ... Also of
  // every module named rotary_emb, with its "PATH:inv_freq".
  std::map<std::string, HostTensor> tensors;

  const HostTensor* find(const std::string& name) const {
    const auto it = tensors.find(name);
    return it == tensors.end() ? nullptr : &it->second;
  }
};

// UserError, with the end of what the program printed, if the packages are not installed or the
// model does not run; PlatformError for a time limit and a cancellation.
PublishedRun run_published(const PublishedRequest& request);

}  // namespace tapml::topdown
