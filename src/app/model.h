// A language model ready to run: weights, tokenizer, engine.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cache.h"
#include "app/contained_kernels.h"
#include "app/libraries.h"
#include "app/patterns.h"
#include "app/remote.h"
#include "app/text_inputs.h"
#include "frontend/huggingface/model.h"
#include "llm/embedder.h"
#include "llm/engine.h"
#include "llm/tokenizer/tokenizer.h"
#include "models/quantization.h"
#include "runtime/session.h"
#include "target/target.h"

namespace tapml::app {

struct LoadedModel {
  frontend::HuggingFaceModel files;
  Tokenizer tokenizer;
};

// What a command needs a model for.
enum class ModelUse : uint8_t { kContinue, kEmbed, kEither };

// How a model directory is read, as options have it; empty texts are defaults.
struct ModelFormat {
  std::string quantize;                             // of models::Quantization
  std::string activations, kv_cache, accumulation;  // of models::Precision
  std::string quantize_activations = {};            // the same: "int8", "none" or "auto"
  std::string quantize_map = {};                    // rules for weights by name, after `quantize`
  // Of an encoder: "mean" or "cls", "yes" or "no".
  std::string pooling = {}, normalize = {};

  // Whether the targets multiply bytes faster than floats (target::multiplies_bytes): "auto" is
  // "int8" then, where weights are integers, and else "none".
  bool multiplies_bytes = false;

  // The text of models::Quantization; empty: none.
  std::string quantization() const;
};

// Whether it is an executable or a package, which is already compiled.
bool is_compiled(const std::string& model);

// Reads a model directory with its tokenizer, or the model of an executable or a package (with its
// kernels already formed); warnings go to the log. `folder`, if given, overrides the executable's.
// `patterns` and `format` are a UserError unless it is a model directory. `watcher` receives the
// number of weights read.
LoadedModel load_model(const std::string& model, const std::string& folder = "",
                       const PatternOptions& patterns = {}, const ModelFormat& format = {},
                       const WorkWatcher& watcher = {});

// Of a text that models::Quantization reads; null for an empty one.
models::QuantizationRef find_quantization(const std::string& text);
models::Precision precision_of(const ModelFormat& format);
frontend::PoolingChoice pooling_of(const ModelFormat& format);

// The tokenizer of a model folder, configured by all of its files; warnings go to the log.
Tokenizer load_tokenizer(const std::string& folder);

// Token ids of a prompt; UserError for an empty one and one that does not fit the context. With a
// prefix, it takes the place of the tokenizer's special tokens, unless the prompt begins with its
// first token, and the prompt may be empty. A rendered chat (`is_chat`) has its special tokens.
std::vector<int32_t> encode_prompt(const Tokenizer& tokenizer, int64_t context,
                                   const std::string& prompt,
                                   const std::vector<int32_t>& prefix = {}, bool is_chat = false);
std::vector<int32_t> encode_prompt(const LoadedModel& model, const std::string& prompt,
                                   llm::TextInputs& inputs);

// How to prepare a model.
struct ModelOptions {
  std::string model;                  // directory, executable or package
  std::optional<std::string> target;  // default: the executable's, or cpu
  std::string folder;                 // overrides the executable's model directory
  CacheOptions cache;
  PatternOptions patterns;
  ModelFormat format;
  TextInputOptions inputs;
  LibraryFiles libraries;
  RemoteOptions remote;
  IsolationOptions isolation;  // for kernels that are not proved to stay within their buffers
  ModelUse use = ModelUse::kContinue;
  bool for_any_platform = false;  // the module does not depend on the target
  int64_t step_limit = 0;         // on function calls per run, loops included; 0: none
  WorkWatcher watcher;            // of loading and compiling; may be empty
  // Called, before any compiling, with the folder of the files that were published with the model;
  // may be empty.
  std::function<void(const std::string& folder)> with_folder;
  // What the caller has already, used in place of reading the model and of opening a session.
  std::shared_ptr<const LoadedModel> loaded;
  runtime::Session* session = nullptr;  // on the device of `opened`; outlives the ready model
  target::Target opened;
};

// A model that can run: compiled now, or from an executable.
struct ReadyModel {
  target::Target target;
  runtime::Session* session = nullptr;
  std::unique_ptr<runtime::Session> own;  // the same; null if the caller has opened it
  std::shared_ptr<const Executable> executable;
  std::map<std::string, HostTensor> weights;
  std::vector<int32_t> eos;
  std::shared_ptr<const Tokenizer> tokenizer;
  llm::TextInputs inputs;  // of all texts
  double load_seconds = 0, compile_seconds = 0;
  // For VMs of the executable; null: none is needed.
  std::unique_ptr<ContainedKernels> contained;

  // Configures an engine of the model: its VM, and the inputs of its texts.
  void attach(llm::Engine& engine) const;
};

// Called between loading and compiling, so that prompts are checked first, and images get their
// positions. May be empty.
using BeforeCompile =
    std::function<void(const Tokenizer&, const ModelInterface&, llm::TextInputs&)>;

// UserError for a model of another kind than its use needs; `model` names it.
void check_use(const ModelInterface& interface, ModelUse use, const std::string& model);

// UserError also for a model of another kind than `options.use` needs.
ReadyModel make_ready(const ModelOptions& options, const BeforeCompile& before_compile);

// The model's engine, with its weights uploaded. If the device is remote, so is the virtual
// machine. `capacity`: most tokens of a text; 0: the model's context.
std::unique_ptr<llm::Engine> make_engine(const ReadyModel& model, int64_t capacity = 0);
// The same of an encoder.
std::unique_ptr<llm::Embedder> make_embedder(const ReadyModel& model);

}  // namespace tapml::app
