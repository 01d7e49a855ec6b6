// A model on a VM, for the runs whose results the reference checks: a language model continues a
// prompt, an encoder makes vectors of texts.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "llm/embedder.h"
#include "llm/engine.h"
#include "topdown/reference_run/model_reference.h"

namespace tapml::topdown {

class ModelRunner {
 public:
  // On a VM, which may be remote: the trusted source, whose kernels may use the host's weights in
  // place, and which chooses tokens by the model's functions. `fragmented`: as
  // llm::EngineOptions::fragmented, and llm::EmbedderOptions::random_padding. Throws.
  static ModelRunner trusted(std::unique_ptr<runtime::VirtualMachine> vm,
                             const std::map<std::string, HostTensor>& weights,
                             bool fragmented = true);
  // On a VM of this process for kernels under test, fragmented. Throws.
  static ModelRunner under_test(runtime::Session& session,
                                std::shared_ptr<const Executable> executable,
                                const std::map<std::string, HostTensor>& weights);

  runtime::VirtualMachine& vm() const;
  const ModelInterface& model() const { return vm().executable().model; }
  void set_watcher(const WorkWatcher& watcher);
  // Null if the model is an encoder, or if it is none.
  llm::Engine* engine() const { return engine_.get(); }
  llm::Embedder* embedder() const { return embedder_.get(); }

  // What is compared with the reference: the logits f32[v] of the last prompt token and of every
  // forced token after it, or the vector f32[d] of each text. Throws.
  std::vector<HostTensor> outputs(const ForcedRun& run);
  // What users run: continues the prompt. An encoder makes its vectors, and no token; as logits do
  // (llm::GenerateOptions::not_finite_ends), those that are not finite end the run (kNotFinite) or
  // are an error that names the text.
  Result<llm::Generation> generate(const ForcedRun& run, const llm::GenerateOptions& options);
  // Calls for several texts of different lengths at once, made of those that it has read in a run,
  // if there are any (llm::Engine, llm::Embedder).
  Status run_mixed_batch(const ForcedRun& run);

 private:
  ModelRunner() = default;

  std::unique_ptr<llm::Engine> engine_;
  std::unique_ptr<llm::Embedder> embedder_;
};

}  // namespace tapml::topdown
