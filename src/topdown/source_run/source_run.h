// The trusted side of a migration or a localization: the source's run, the tests carved from it,
// and the references.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "llm/engine.h"
#include "pipeline/compile.h"
#include "topdown/profile/timeline.h"
#include "topdown/reference_run/kernel_reference.h"
#include "topdown/reference_run/model_runner.h"
#include "topdown/runner/kernel_event.h"
#include "topdown/runner/platform.h"
#include "topdown/source_run/reference_store.h"
#include "topdown/suite/coverage.h"
#include "topdown/suite/source_nan.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

struct SourceRunOptions {
  int64_t max_tokens = 64;        // of the free-running continuations
  int64_t validation_tokens = 4;  // decode steps that are carved, and teacher-forced in each
                                  // hybrid; without one, the kernels of decode are untested
  std::vector<int32_t> eos;
  // How the texts are sampled: with a temperature, drawing is tested, too.
  llm::SamplerOptions sampler;
  llm::TextInputs inputs;  // of all texts
  // What an encoder reads; then there is no prompt, and nothing of tokens and sampling counts.
  std::vector<std::vector<int32_t>> texts;
  Tolerances tolerances;
  // Libraries of the user, for the platforms that accept them (option `libs`).
  library::LibraryOptions libraries;
  // For native kernels; null: none.
  pipeline::KernelCache* cache = nullptr;
  // Called as the work goes on; `total` may be 0 while it is unknown.
  std::function<void(const std::string& step, int64_t done, int64_t total)> progress;
  // Receives the progress within such a step; may be empty.
  WorkWatcher watcher;
  KernelWatcher watch;  // receives the events of each kernel; may be empty
  // Polled between two tokens and two fault sites: true ends the work with a PlatformError
  // (kCancelled).
  std::function<bool()> cancelled;
  // Ends the VMs' runs once it is set; may be null.
  const std::atomic<bool>* interrupt = nullptr;
};

class SourceRun {
 public:
  // Forms the kernels. All arguments outlive it.
  SourceRun(const Module& module, const std::map<std::string, HostTensor>& weights,
            const std::vector<int32_t>& prompt, const Platform& source,
            const SourceRunOptions& options);
  SourceRun(const SourceRun&) = delete;

  const Platform& platform() const { return platform_; }
  const std::map<std::string, HostTensor>& weights() const { return weights_; }
  const std::vector<int32_t>& prompt() const { return forced_.prompt; }
  const Module& fixed() const { return fixed_; }
  // Options to compile kernels for any platform.
  pipeline::ImplementOptions implement_options() const;

  // In this order: opens the model; continues the prompt by `tokens` tokens; carves while it does
  // so again; evaluates the references. After a run with NaN (nan()) there is no reference.
  void start();
  void run_freely(int64_t tokens);
  void take_suite(Suite suite);  // one that was carved, now or earlier
  void evaluate_model();
  // All of it.
  void run();

  const std::shared_ptr<const Executable>& executable() const { return executable_; }
  ModelRunner& model() { return *model_; }
  const std::vector<int32_t>& tokens() const { return tokens_; }  // of the free run
  // Carves the calls of the kernels in `only`, or of all kernels, while the prompt continues by
  // `validation_tokens` decode steps. Calls count from the start of that run.
  Suite carve(const std::set<std::string>& only = {});
  // Of the last run that was carved whole.
  const std::optional<SourceNaN>& nan() const { return nan_; }
  // Throws if the free run ended at logits that are not finite, which carving does not explain.
  void expect_finite();
  const Suite& suite() const { return suite_; }
  // Kernels that generation calls on the source or on a target; those without a test in the suite.
  std::vector<KernelUse> called(const DeviceInfo& target) const;
  std::vector<KernelUse> untested(const DeviceInfo& target) const;
  KernelReference& reference() { return *reference_; }
  const ModelReference& model_reference() const { return *model_reference_; }
  // Empty before keep_reference().
  std::vector<TokenMargin> token_margins() const {
    return model_reference_ ? model_reference_->margins() : std::vector<TokenMargin>();
  }
  const ForcedRun& forced() const { return forced_; }
  // The margin by which the reference prefers its own choice to that of `tokens` at `at`, where
  // they diverge from the source's. If the text has ended there, its choice was the most likely
  // stop token.
  double margin_at(size_t at, const std::vector<int32_t>& tokens);
  // Where the reference logits are kept and found (MigrationTarget::state); before run().
  void set_states(const std::vector<std::string>& folders);
  // Writes logits evaluated since then to the existing folders.
  void keep_reference();
  // Its parts of the identity of a state (MigrationIdentity).
  const std::string& weights_digest();
  const std::string& suite_digest();

  // Throws if the source itself is lost, which is not the target's fault.
  void expect_alive() const;
  void check_cancelled() const;
  // Ends at logits that are not finite.
  llm::Generation generate(ModelRunner& model, int64_t tokens) const;
  // Throws the error about logits or vectors that are not finite, for a run that ended there.
  void fail_not_finite(ModelRunner& model) const;
  const Timeline& timeline() const { return timeline_; }
  Timeline& timeline() { return timeline_; }

 private:
  void begin(const std::string& step);
  llm::GenerateOptions generate_options(int64_t tokens) const;
  // Evaluated, or from a state.
  ReferenceLogits reference_logits(const ForcedRun& run);
  ReferenceLogits evaluate_reference(const ForcedRun& run,
                                     const op::ProductRounding& products) const;

  const Module& module_;
  const std::map<std::string, HostTensor>& weights_;
  const Platform& platform_;
  const SourceRunOptions& options_;
  Timeline timeline_;
  Module fixed_;
  std::shared_ptr<const Executable> executable_;
  std::optional<ModelRunner> model_;
  std::vector<int32_t> tokens_;
  bool finite_ = true;  // the free run
  std::optional<SourceNaN> nan_;
  Suite suite_;
  std::optional<KernelReference> reference_;
  ForcedRun forced_;
  std::optional<ModelReference> model_reference_;
  std::map<size_t, ModelReference> partings_;  // references for the token at one position
  std::string weights_digest_, suite_digest_;
  std::optional<ReferenceStore> store_;  // with states
};

}  // namespace tapml::topdown
