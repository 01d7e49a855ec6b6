#include "topdown/migrate/migrate.h"

#include <algorithm>

#include "base/log.h"
#include "ir/exceptions.h"
#include "topdown/migrate/target_migration.h"

namespace tapml::topdown {

namespace {

// Several targets, each of which may end before the others.
class RoundRobin {
 public:
  RoundRobin(SourceRun& source, const std::vector<MigrationTarget>& targets,
             const MigrateOptions& options)
      : source_(source), options_(options) {
    const bool several = targets.size() > 1;
    for (const MigrationTarget& target : targets) {
      if (!target.state.empty()) states_.push_back(target.state);
      migrations_.push_back(std::make_unique<TargetMigration>(source, target, options, several));
    }
    for (size_t t = 0; t < targets.size(); ++t) {
      if (targets[t].absent) end(*migrations_[t], *targets[t].absent);
    }
  }

  Migrations run() {
    take_turns(false, [](TargetMigration& one) { one.check_state(); });
    take_turns(false, [](TargetMigration& one) { one.check_custom_kernels(); });
    source_.set_states(states_);
    source_.run();
    take_turns(false, [](TargetMigration& one) { one.prepare(); });
    source_.keep_reference();
    if (!source_.nan()) {
      go_through("kernels", std::ssize(source_.suite().kernels), &TargetMigration::kernels_done,
                 &TargetMigration::move_next);
      if (options_.plan.layer_by_layer) {
        const auto layers = std::ssize(ModelLayers(source_.suite()).all());
        go_through("layers", layers, &TargetMigration::layers_done,
                   &TargetMigration::move_next_layer);
      }
      take_turns(true, [](TargetMigration& one) { one.finish(); });
    }
    Migrations result;
    for (const auto& migration : migrations_) result.targets.push_back(migration->take());
    result.seconds = source_.timeline().now();
    return result;
  }

 private:
  void end(TargetMigration& one, const Error& error) {
    one.end(error);
    if (migrations_.size() > 1) {
      log_warning(one.target_text() + " drops out: " + error.message);
    }
    if (!first_error_) first_error_ = error;
    ++ended_;
  }

  // Takes turns until each target has done its `total` steps.
  void go_through(const char* things, int64_t total, bool (TargetMigration::*done)() const,
                  void (TargetMigration::*move)()) {
    while (std::ranges::any_of(migrations_, [&](const auto& one) { return !(*one.*done)(); })) {
      take_turns(true, [&](TargetMigration& one) {
        if (!(one.*done)()) (one.*move)();
      });
    }
    if (options_.progress) options_.progress(things, total, total);
  }

  // `found`: kernels are being tried, so that there are results to keep.
  template <class Step>
  void take_turns(bool found, const Step& step) {
    for (const auto& one : migrations_) {
      if (one->ended()) continue;
      if (migrations_.size() == 1) {
        step(*one);
        continue;
      }
      const Status done = guard([&] { step(*one); });
      if (done) continue;
      const Error& error = done.error();
      if (error.fault == PlatformFault::kCancelled) throw_error(error);
      if (!found && error.kind == ErrorKind::kUser) throw_error(error);
      source_.expect_alive();
      end(*one, error);
    }
    if (!found && ended_ == migrations_.size()) throw_error(*first_error_);
  }

  SourceRun& source_;
  const MigrateOptions& options_;
  std::vector<std::unique_ptr<TargetMigration>> migrations_;
  std::vector<std::string> states_;
  std::optional<Error> first_error_;
  size_t ended_ = 0;
};

}  // namespace

Migrations migrate(const Module& module, const std::map<std::string, HostTensor>& weights,
                   const std::vector<int32_t>& prompt, const Platform& source,
                   const std::vector<MigrationTarget>& targets, const MigrateOptions& options) {
  SourceRun run(module, weights, prompt, source, options);
  return RoundRobin(run, targets, options).run();
}

Migration migrate(const Module& module, const std::map<std::string, HostTensor>& weights,
                  const std::vector<int32_t>& prompt, const Platform& source,
                  const MigrationTarget& target, const MigrateOptions& options) {
  return std::move(
      migrate(module, weights, prompt, source, std::vector{target}, options).targets.at(0));
}

}  // namespace tapml::topdown
