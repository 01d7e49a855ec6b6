// What a migration does once, however many platforms the model moves to: the source's run, the
// tests that are carved from it, and the judges.
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
  // Fixes the kernels. All arguments outlive it.
  SourceRun(const Module& module, const std::map<std::string, HostTensor>& weights,
            const std::vector<int32_t>& prompt, const Platform& source,
            const MigrateOptions& options);
  SourceRun(const SourceRun&) = delete;

  const MigrateOptions& options() const { return options_; }
  const Platform& platform() const { return platform_; }
  const std::map<std::string, HostTensor>& weights() const { return weights_; }
  const std::vector<int32_t>& prompt() const { return prompt_; }
  const Module& fixed() const { return fixed_; }
  // How kernels are compiled, whatever the platform.
  pipeline::ImplementOptions implement_options() const;

  // Runs, carves and judges; what follows is there after it. Where the run has NaN (nan()), there
  // are no judges.
  void run();
  llm::Engine& engine() const { return *engine_; }
  const std::vector<int32_t>& tokens() const { return tokens_; }
  const std::optional<SourceNaN>& nan() const { return nan_; }
  const Suite& suite() const { return suite_; }
  // Kernels that a generation calls on the source or on a target, and of which the suite has no
  // test.
  std::vector<KernelUse> untested(const DeviceInfo& target) const;
  KernelReference& reference() { return *reference_; }
  const ModelReference& model_reference() const { return *model_reference_; }
  const ForcedRun& forced() const { return forced_; }
  // By how much the reference prefers its own choice to the one of `tokens` at `at`, where they
  // part from the source's. That of a text that has ended there was a stop token, the most likely
  // one.
  double margin_at(size_t at, const std::vector<int32_t>& tokens);
  // Where the reference's logits are kept and looked for (MigrationTarget::state); before run().
  void set_states(const std::vector<std::string>& folders);
  // Writes what was evaluated since to those of them that are there.
  void keep_reference();
  // What has to be the same of it for a state of this migration to count.
  const std::string& weights_digest();
  const std::string& suite_digest();

  // Throws where the source itself is gone, which is no target's fault.
  void expect_alive() const;
  void check_cancelled() const;
  // Ends where logits are not finite.
  llm::Generation generate(llm::Engine& engine, int64_t tokens) const;
  // Throws what the engine says of logits that are not finite, for a text that ended there.
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
  std::map<size_t, ModelReference> partings_;  // judges of the token at a position alone
  std::string weights_digest_, suite_digest_;
  std::optional<ReferenceStore> store_;  // with states
};

}  // namespace tapml::topdown
