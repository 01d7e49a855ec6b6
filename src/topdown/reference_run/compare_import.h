// Checks the import of a model against its published implementation.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "abi/model_interface.h"
#include "base/work.h"
#include "ir/module.h"
#include "tensor/host_tensor.h"
#include "topdown/reference_run/import_check.h"
#include "topdown/reference_run/published_run.h"

namespace tapml::topdown {

inline constexpr int64_t kImportTokens = 16;

struct CompareImportOptions {
  std::string folder;  // the model directory
  std::string name;    // PublishedRequest::name
  std::string python;  // PublishedRequest::python
  // Tokens of the text; of a longer one, the first `count`.
  std::vector<int32_t> tokens;
  int64_t count = kImportTokens;
  std::optional<models::PoolingConfig> pooling;  // of an encoder
  std::chrono::milliseconds longest{600'000};    // for the published implementation
  std::function<void()> poll;                    // an exception ends the work; may be empty
  std::function<bool()> cancelled;               // may be empty
  WorkWatcher watcher;
};

// Those of `tokens` that the model has, and random ones up to `most` or the context: a shorter
// text would test neither rotations nor attention.
std::vector<int32_t> import_tokens(const std::vector<int32_t>& tokens, const ModelInterface& model,
                                   int64_t most = kImportTokens);

// Runs the same tokens through the published implementation and through the reference, which both
// compute in f64, and compares the logits, or the vector that an encoder makes. If those of any
// token differ, the values at the ends of the implementation's modules, in the order of the model,
// tell where. `module` is the model as imported, in its default precision: its bindings have the
// paths of the implementation's modules as origins. `formed` is the same model with its kernels
// formed: then the kernels' specifications are compared, too. Throws like run_published().
ImportCheck compare_import(const Module& module, const Module& formed, const ModelInterface& model,
                           const std::map<std::string, HostTensor>& weights,
                           const CompareImportOptions& options);

}  // namespace tapml::topdown
