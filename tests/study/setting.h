// One model on one target, prepared for the cases of the study: compiled for the source, run,
// carved.
#pragma once

#include "app/cache.h"
#include "base/rng.h"
#include "frontend/huggingface/model.h"
#include "topdown/localize/localize.h"
#include "topdown/migrate/migrate.h"

namespace tapml::study {

struct Options {
  std::string program;          // tapml, whose kernel-worker runs the code under test
  std::string model, quantize;  // a folder of tests/golden/logits, or "demo" and a quantization
  std::string target, out;      // out: folder of the cases
  uint64_t seed = 1;
  int64_t cases = 1, clean = 0;
  int64_t first_count = 0;  // the index in the list of bug counts at which case 0 begins
};

class Setting {
 public:
  // Throws as its parts do.
  explicit Setting(const Options& options);

  // Random numbers for `purpose` depend only on the seed, the model and the target.
  RandomStream random(const std::string& purpose) const;
  std::vector<int32_t> prompt(uint64_t seed) const;

  const frontend::HuggingFaceModel& model() const { return model_; }
  const topdown::Platform& source() const { return source_; }
  const topdown::Platform& target() const { return target_; }
  const topdown::Suite& suite() const { return suite_; }
  topdown::KernelReference& reference() { return *reference_; }
  pipeline::KernelCache* cache() { return cache_.kernels(); }
  const std::shared_ptr<const Executable>& source_executable() const { return executable_; }

  using Rewrite = std::function<tir::PrimFuncRef(const std::string& kernel, tir::PrimFuncRef)>;
  // The correct executable if there is no `rewrite`.
  std::shared_ptr<const Executable> target_executable(const Rewrite& rewrite);
  // For the study's prompt, with the executable in the sandbox.
  std::vector<HostTensor> target_logits(topdown::Sandbox& sandbox,
                                        const std::shared_ptr<const Executable>& executable) const;

  // How a case is localized: from the suite, without reducing failing inputs.
  topdown::LocalizeOptions localize_options();
  topdown::Localization localize(const topdown::Platform& target,
                                 const topdown::LocalizeOptions& options) const;
  // Without injected bugs.
  topdown::Migration migrate(const std::vector<int32_t>& prompt);

 private:
  topdown::Suite carve();

  const Options& options_;
  app::CompileCache cache_;
  frontend::HuggingFaceModel model_;
  target::Target source_target_;
  std::unique_ptr<runtime::Session> source_session_;
  topdown::Platform source_, target_;
  Module fixed_;
  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<llm::Engine> engine_;
  topdown::ForcedRun run_;
  topdown::Suite suite_;
  std::optional<topdown::KernelReference> reference_;
};

}  // namespace tapml::study
