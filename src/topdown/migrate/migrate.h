// Top-down migration: Algorithm 1 of the TapML paper. Kernel by kernel the model moves from the
// source platform to the target; each step is validated alone (carved tests) and in the whole model
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
  // How the texts are continued: with a temperature, drawing is among what migrates.
  llm::SamplerOptions sampler;
  PlanOptions plan;
  Tolerances tolerances;
  bool measure_speed = false;  // of the kernels whose tests pass, on the target
  bool stop_at_first = false;  // after the first kernel that stays on the source
  // Libraries of the user, for whichever of the platforms takes them (option `libs`).
  library::LibraryOptions libraries;
  // Of native kernels; null: none.
  pipeline::KernelCache* cache = nullptr;
  // Called as the work goes on; `total` may be 0 while it is not known.
  std::function<void(const std::string& step, int64_t done, int64_t total)> progress;
  // Told how far the work of such a step is; may be empty.
  WorkWatcher watcher;
  KernelWatcher watch;  // told what becomes of each kernel; may be empty
  // Asked between two tokens and two planted sites: true ends the migration with a PlatformError
  // (kCancelled).
  std::function<bool()> cancelled;
  // Ends the virtual machines' runs once it is set; null: nothing does.
  const std::atomic<bool>* interrupt = nullptr;
};

// A new platform, and what is its own.
struct MigrationTarget {
  Platform platform;
  // Kernels of the user's own for it (CustomKernels).
  std::vector<CustomSource> custom_sources = {};
  std::string fault = {};  // KERNEL:KIND, or empty
  // Folder that keeps what is done, so that the same migration goes on there; empty: none does.
  std::string state = {};
  // Why the platform could not be opened: of several targets, this one has only that.
  std::optional<Error> absent = {};
};

// UserError (also for the state of another migration), PlatformError or InternalError are thrown
// (compiler room); a kernel that differs is a result, and so is one that crashes or hangs where the
// target's Platform::open is given.
Migration migrate(const Module& module, const std::map<std::string, HostTensor>& weights,
                  const std::vector<int32_t>& prompt, const Platform& source,
                  const MigrationTarget& target, const MigrateOptions& options);

// To several targets at once. The source is run, carved and judged once; then every target goes
// through its own plan, as it would alone, in turns: the first unit of each, then the second of
// each. Once kernels are tried, what is thrown on account of one target ends that target alone
// (Migration::error); before, so does anything but a UserError. Thrown is what ends all of them: an
// interruption, the source's own errors, and the first target's where none is left to try.
Migrations migrate(const Module& module, const std::map<std::string, HostTensor>& weights,
                   const std::vector<int32_t>& prompt, const Platform& source,
                   const std::vector<MigrationTarget>& targets, const MigrateOptions& options);

}  // namespace tapml::topdown
