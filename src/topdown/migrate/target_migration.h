// The part of a migration that runs for each target.
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
#include "topdown/migrate/migrate.h"
#include "topdown/migrate/migration_state.h"
#include "topdown/runner/hybrid.h"
#include "topdown/source_run/source_run.h"

namespace tapml::topdown {

// Call its steps in this order, each at most once except move_next() and move_next_layer(), which
// are called until kernels_done() and layers_done(). They throw CompilerException. The target's
// sessions end with this object.
class TargetMigration {
 public:
  // All outlive it. `several`: other targets work in between, and names distinguish them.
  TargetMigration(SourceRun& source, const MigrationTarget& target, const MigrateOptions& options,
                  bool several);
  TargetMigration(const TargetMigration&) = delete;

  // Compares the parts of the identity that need no run, to reject the state of another migration
  // early. prepare() compares the rest.
  void check_state();
  // Finds errors in custom kernels before the model runs.
  void check_custom_kernels();
  // After the source's run: compiles, plans, and reads the state.
  void prepare();
  // Whether no kernel, or no layer, is left to try.
  bool kernels_done() const { return next_ == units_.size(); }
  bool layers_done() const { return !layers_ || layers_->done(); }
  // Tests the kernels of the next unit, and moves those that are right, unless layers move.
  void move_next();
  void move_next_layer();
  // Explains what stays; if nothing stays, runs the target alone; measures.
  void finish();

  // Ends the migration with an error: the rest is not tried, and only take() may follow.
  void end(const Error& error);
  const std::string& target_text() const { return result_.target; }
  bool ended() const { return result_.error.has_value(); }
  // The result.
  Migration take();

 private:
  class ScopedTimer;
  // A unit whose kernels are tested alone.
  struct Tested {
    const MigrationUnit* unit;
    std::vector<MigrationStep> steps;

    std::vector<MigrationStep*> right();  // those that may move
  };

  void progress(const std::string& step);
  void progress_of(const char* lane, const std::string& name, int64_t done, int64_t total);
  void tell(const std::string& kernel, KernelStage stage) const;
  void tell_end(const MigrationStep& step) const;
  const target::Target& target() const { return sandbox_.target(); }
  const std::string& name_of(int32_t kernel) const;
  std::vector<std::string> names_of(const MigrationUnit& unit) const;
  MigrationIdentity known_identity();  // the part that needs no run
  MigrationIdentity identity();
  void leave_untried(int32_t kernel);
  void leave_rest();
  void expect_device(bool ran);
  Tested test_unit(const MigrationUnit& unit);
  bool hybrid_is_due() const;
  void settle();
  void keep(std::vector<MigrationStep> steps);
  void move_units(std::span<Tested*> units, bool known_wrong);
  bool try_together(const std::string& name, const std::vector<MigrationStep*>& steps);
  LayerMoves::Steps steps_by_kernel();
  LayerRun run_layers(const std::string& layer, const CallChoice& choice);
  void explain_failures();
  void run_alone();
  void keep_sources();
  void measure_speed();

  SourceRun& source_;
  const MigrationTarget& given_;
  const MigrateOptions& options_;
  const bool several_;
  Sandbox sandbox_;
  Timeline timeline_;  // continues the source's
  double seconds_ = 0;
  pipeline::ImplementOptions implement_;
  std::shared_ptr<const Executable> executable_;
  std::optional<MigrationState> state_;
  std::vector<MigrationUnit> units_;
  size_t next_ = 0;
  std::unique_ptr<Hybrid> hybrid_;      // destroyed before the sandbox
  std::unique_ptr<LayerMoves> layers_;  // with PlanOptions::layer_by_layer
  std::vector<Tested> tested_;          // that no hybrid run has had yet
  std::set<std::string> moved_;
  Migration result_;
};

}  // namespace tapml::topdown
