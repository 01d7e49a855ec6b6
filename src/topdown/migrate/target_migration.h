// What a migration does for each platform that the model moves to.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "topdown/kernels/custom_kernels.h"
#include "topdown/migrate/layer_moves.h"
#include "topdown/migrate/migration_state.h"
#include "topdown/migrate/source_run.h"
#include "topdown/runner/hybrid.h"

namespace tapml::topdown {

// Its steps are called in this order, each at most once but move_next() and move_next_layer(),
// which are called until kernels_done() and layers_done(). They throw (compiler room). The target's
// sessions end with it.
class TargetMigration {
 public:
  // Both outlive it. `several`: other targets work in between, and are told apart.
  TargetMigration(SourceRun& source, const MigrationTarget& target, bool several);
  TargetMigration(const TargetMigration&) = delete;

  // Before anything is done: a state of another migration needs no run to be told. What only the
  // run shows is compared by prepare().
  void check_state();
  // Before the model runs: what is wrong with the user's kernels needs no run.
  void check_custom_kernels();
  // With the source's run there: compiles, plans, takes up the state.
  void prepare();
  // Whether there is no kernel, no layer left to try.
  bool kernels_done() const { return next_ == units_.size(); }
  bool layers_done() const { return !layers_ || layers_->done(); }
  // Tests the kernels of the next unit, and moves those that are right, unless layers do.
  void move_next();
  void move_next_layer();
  // Explains what stays; runs the target alone where nothing does; measures.
  void finish();

  // Ends it with an error: what is left is not tried, and only take() may follow.
  void end(const Error& error);
  const std::string& target_text() const { return result_.target; }
  bool ended() const { return result_.error.has_value(); }
  // What is found.
  Migration take();

 private:
  class ScopedTimer;

  void progress(const std::string& step);
  void progress_of(const char* lane, const std::string& name, int64_t done, int64_t total);
  void tell(const std::string& kernel, KernelStage stage) const;
  void tell_end(const MigrationStep& step) const;
  const target::Target& target() const { return sandbox_.target(); }
  const std::string& name_of(int32_t kernel) const;
  std::vector<std::string> names_of(const MigrationUnit& unit) const;
  MigrationIdentity known_identity();  // what needs no run
  MigrationIdentity identity();
  void leave_untried(int32_t kernel);
  void leave_rest();
  void expect_device(bool ran);
  std::vector<MigrationStep> move_unit(const MigrationUnit& unit);
  bool try_together(const MigrationUnit& unit, std::vector<MigrationStep>& steps,
                    std::span<const size_t> chosen, std::set<std::string>& moved);
  LayerMoves::Steps steps_by_kernel();
  LayerRun run_layers(const std::string& layer, const CallChoice& choice);
  void explain_failures();
  void run_alone();
  void measure_speed();

  SourceRun& source_;
  const MigrationTarget& given_;
  const MigrateOptions& options_;
  const bool several_;
  Sandbox sandbox_;
  Timeline timeline_;  // goes on behind the source's
  double seconds_ = 0;
  pipeline::ImplementOptions implement_;
  std::shared_ptr<const Executable> executable_;
  std::optional<MigrationState> state_;
  std::vector<MigrationUnit> units_;
  size_t next_ = 0;
  std::unique_ptr<Hybrid> hybrid_;      // before the sandbox ends
  std::unique_ptr<LayerMoves> layers_;  // with PlanOptions::layer_by_layer
  std::set<std::string> moved_;
  Migration result_;
};

}  // namespace tapml::topdown
