// What a migration does for each platform that the model moves to.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "topdown/kernels/user_kernels.h"
#include "topdown/migrate/migration_state.h"
#include "topdown/migrate/source_run.h"
#include "topdown/replay/hybrid.h"

namespace tapml::topdown {

// Its steps are called in this order, each at most once but move_next(), which is called until
// done(). They throw (compiler room). The target's sessions end with it.
class TargetMigration {
 public:
  // Both outlive it. `several`: other targets work in between, and are told apart.
  TargetMigration(SourceRun& source, const MigrationTarget& target, bool several);
  TargetMigration(const TargetMigration&) = delete;

  // Before the model runs: what is wrong with the user's kernels needs no run.
  void check_user_kernels();
  // With the source's run there: compiles, plans, takes up the state.
  void prepare();
  // Whether there is nothing left to try.
  bool done() const { return next_ == units_.size(); }
  // Tests the kernels of the next unit, and moves those that are right.
  void move_next();
  // Explains what stays; runs the target alone where nothing does; measures.
  void finish();

  // Ends it with an error: what is left is not tried, and only take() may follow.
  void end(const Error& error);
  const std::string& target_text() const { return result_.target; }
  bool ended() const { return result_.error.has_value(); }
  // What is found.
  Migration take();

 private:
  class Working;

  void progress(const std::string& step);
  void progress_of(const std::string& kernel, size_t done);
  void tell(const std::string& kernel, KernelStage stage) const;
  void tell_end(const MigrationStep& step) const;
  const target::Target& target() const { return sandbox_.target(); }
  const std::string& name_of(int32_t kernel) const;
  std::vector<std::string> names_of(const MigrationUnit& unit) const;
  MigrationIdentity identity();
  void leave_untried(int32_t kernel);
  void leave_rest();
  void expect_device(bool ran);
  std::vector<MigrationStep> move_unit(const MigrationUnit& unit);
  bool try_together(const MigrationUnit& unit, std::vector<MigrationStep>& steps,
                    std::span<const size_t> chosen, std::set<std::string>& moved);
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
  std::unique_ptr<Hybrid> hybrid_;  // before the sandbox ends
  std::set<std::string> moved_;
  Migration result_;
};

}  // namespace tapml::topdown
