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
#include "topdown/runner/kernel_event.h"

namespace tapml::topdown {

struct MigrateOptions {
  int64_t max_tokens = 64;        // of the free-running continuations
  int64_t validation_tokens = 4;  // decode steps that are carved, and teacher-forced in each
                                  // hybrid; without one, the kernels of decode are untested
  std::vector<int32_t> eos;
  // How the texts are sampled: with a temperature, drawing migrates, too.
  llm::SamplerOptions sampler;
  PlanOptions plan;
  Tolerances tolerances;
  bool measure_speed = false;  // of the kernels whose tests pass, on the target
  bool stop_at_first = false;  // after the first kernel that stays on the source
  // Libraries of the user, for the platforms that accept them (option `libs`).
  library::LibraryOptions libraries;
  // For native kernels; null: none.
  pipeline::KernelCache* cache = nullptr;
  // Called as the work goes on; `total` may be 0 while it is unknown.
  std::function<void(const std::string& step, int64_t done, int64_t total)> progress;
  // Receives the progress within such a step; may be empty.
  WorkWatcher watcher;
  KernelWatcher watch;  // receives the events of each kernel; may be empty
  // Polled between two tokens and two fault sites: true ends the migration with a PlatformError
  // (kCancelled).
  std::function<bool()> cancelled;
  // Ends the VMs' runs once it is set; may be null.
  const std::atomic<bool>* interrupt = nullptr;
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
