// The part of a migration that is shared by all targets: the source's run, the tests carved from
// it, and the references.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "topdown/migrate/migrate.h"
#include "topdown/migrate/reference_store.h"

namespace tapml::topdown {

class SourceRun {
 public:
  // Forms the kernels. All arguments outlive it.
  SourceRun(const Module& module, const std::map<std::string, HostTensor>& weights,
            const std::vector<int32_t>& prompt, const Platform& source,
            const MigrateOptions& options);
  SourceRun(const SourceRun&) = delete;

  const MigrateOptions& options() const { return options_; }
  const Platform& platform() const { return platform_; }
  const std::map<std::string, HostTensor>& weights() const { return weights_; }
  const std::vector<int32_t>& prompt() const { return prompt_; }
  const Module& fixed() const { return fixed_; }
  // Options to compile kernels for any platform.
  pipeline::ImplementOptions implement_options() const;

  // Runs, carves and evaluates; call it before the functions below. If the run has NaN (nan()),
  // there is no reference.
  void run();
  llm::Engine& engine() const { return *engine_; }
  const std::vector<int32_t>& tokens() const { return tokens_; }
  const std::optional<SourceNaN>& nan() const { return nan_; }
  const Suite& suite() const { return suite_; }
  // Kernels that generation calls on the source or on a target and that have no test in the suite.
  std::vector<KernelUse> untested(const DeviceInfo& target) const;
  KernelReference& reference() { return *reference_; }
  const ModelReference& model_reference() const { return *model_reference_; }
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
  llm::Generation generate(llm::Engine& engine, int64_t tokens) const;
  // Throws the engine's error about logits that are not finite, for a text that ended there.
  void fail_not_finite(llm::Engine& engine) const;
  const Timeline& timeline() const { return timeline_; }

 private:
  void begin(const std::string& step);
  void carve(const Executable& executable);
  llm::GenerateOptions generate_options(int64_t tokens) const;
  // Evaluated, or from a state.
  ReferenceLogits reference_logits(const std::vector<int32_t>& tokens, size_t first);

  const Module& module_;
  const std::map<std::string, HostTensor>& weights_;
  const std::vector<int32_t>& prompt_;
  const Platform& platform_;
  const MigrateOptions& options_;
  Timeline timeline_;
  Module fixed_;
  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<llm::Engine> engine_;
  std::vector<int32_t> tokens_;
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
