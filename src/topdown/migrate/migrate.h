// Top-down migration: Algorithm 1 of the TapML paper. The model moves from the source platform to
// the target kernel by kernel. Each step is validated alone (carved tests) and in the whole model
// (a hybrid run); at the end the target runs alone.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/work.h"
#include "ir/module.h"
#include "library/choose.h"
#include "llm/engine.h"
#include "pipeline/compile.h"
#include "topdown/faults/inject_fault.h"
#include "topdown/kernels/custom_source.h"
#include "topdown/migrate/migration_plan.h"
#include "topdown/results/migration.h"
#include "topdown/source_run/source_run.h"

namespace tapml::topdown {

struct MigrateOptions : SourceRunOptions {
  PlanOptions plan;
  bool for_report = false;     // also measures the kernels that pass, and keeps their code
  bool stop_at_first = false;  // after the first kernel that stays on the source
};

// A new platform and its options.
struct MigrationTarget {
  Platform platform;
  // Custom kernels for it (CustomKernels).
  std::vector<CustomSource> custom_sources = {};
  std::string fault = {};  // KERNEL:KIND, or empty
  // The folder that keeps the finished steps, so that the same migration can continue there; empty:
  // none.
  std::string state = {};
  // Why the platform could not be opened; with several targets, this one has only this error.
  std::optional<Error> absent = {};
};

// Throws UserError (also for the state of another migration), PlatformError or InternalError
// (CompilerException). A wrong kernel is a result, and so is one that crashes or hangs if the
// target's Platform::open is given.
Migration migrate(const Module& module, const std::map<std::string, HostTensor>& weights,
                  const std::vector<int32_t>& prompt, const Platform& source,
                  const MigrationTarget& target, const MigrateOptions& options);

// Migrates to several targets. The source is run, carved and evaluated once; then every target
// follows its own plan as it would alone, in turns: the first unit of each, then the second of
// each. Once kernels are tried, an error of one target ends that target alone (Migration::error);
// before that, this holds for all but UserErrors. Throws what ends all of them: an interruption,
// errors of the source, and the first target's error if no target is left.
Migrations migrate(const Module& module, const std::map<std::string, HostTensor>& weights,
                   const std::vector<int32_t>& prompt, const Platform& source,
                   const std::vector<MigrationTarget>& targets, const MigrateOptions& options);

}  // namespace tapml::topdown
