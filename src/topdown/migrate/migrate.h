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

#include "ir/module.h"
#include "llm/engine.h"
#include "topdown/kernels/plant.h"
#include "topdown/kernels/user_source.h"
#include "topdown/migrate/migration_plan.h"
#include "topdown/profile/timeline.h"
#include "topdown/replay/kernel_event.h"
#include "topdown/replay/kernel_source.h"
#include "topdown/replay/kernel_speed.h"
#include "topdown/replay/replay.h"
#include "topdown/suite/source_nan.h"
#include "topdown/verdict/model_check.h"

namespace tapml::topdown {

struct MigrateOptions {
  int64_t max_tokens = 64;        // of the free-running continuations
  int64_t validation_tokens = 4;  // decode steps that are carved, and teacher-forced in each hybrid
  std::vector<int32_t> eos;
  // How the texts are continued: with a temperature, drawing is among what migrates.
  llm::SamplerOptions sampler;
  std::string plant;  // KERNEL:KIND, or empty
  PlanOptions plan;
  Tolerances tolerances;
  bool measure_speed = false;  // of the kernels whose tests pass, on the target
  bool stop_at_first = false;  // after the first kernel that stays on the source
  // Folder that keeps what is done, so that the same migration goes on there; empty: none does.
  std::string state;
  // Libraries of the user, for whichever of the two targets takes them (option `libs`).
  library::LibraryOptions libraries;
  // Kernels of the user's own, for the target (UserKernels).
  std::vector<UserSource> user_sources;
  // Of native kernels; null: none.
  pipeline::KernelCache* cache = nullptr;
  // Called as the work goes on; `total` may be 0 while it is not known.
  std::function<void(const std::string& step, int64_t done, int64_t total)> progress;
  KernelWatcher watch;  // told what becomes of each kernel; may be empty
  // Asked between two tokens and two planted sites: true ends the migration with a PlatformError
  // (kCancelled).
  std::function<bool()> cancelled;
  // Ends the virtual machines' runs once it is set; null: nothing does.
  const std::atomic<bool>* interrupt = nullptr;
};

struct MigrationStep {
  std::string unit;  // what moved together with it, by its own name
  KernelVerdict verdict;
  ModelCheck hybrid;          // with this kernel and all migrated before it on the target
  bool migrated = false;      // else it stays on the source
  int64_t dispatched = 0;     // kernel calls that ran on the target in the hybrid run
  runtime::CopyCount copies;  // between the two sessions in that run
};

// What a reader of a report wants to see of a kernel that stays on the source.
struct FailedKernel {
  KernelSource source;
  // The failing call alone; empty where its tests pass.
  std::optional<Suite> suite;
};

struct Migration {
  std::string source, target;
  DeviceInfo source_info, target_info;
  // In the source's run: no kernel was tried then.
  std::optional<SourceNaN> source_nan;
  std::vector<MigrationStep> steps;  // in the order of the plan
  std::vector<std::string> untried;  // kernels behind the one that ended it (stop_at_first)
  // Calls of each of those, none of them judged.
  std::vector<std::vector<CallGroup>> untried_calls;
  std::map<std::string, FailedKernel> failed;  // by kernel
  int64_t resumed = 0;                         // steps that an earlier run had done
  std::vector<int32_t> source_tokens, target_tokens;
  bool target_ran = false;  // all kernels migrated, so the target ran the whole model
  ModelCheck whole;         // the target alone
  bool drawn = false;       // with a temperature: where texts part decides nothing
  bool tie = false;         // tokens diverged first where the judge's margin is within the bound
  int64_t first_divergence = -1;
  SpeedTable speed;  // with measure_speed
  std::vector<TimelineSpan> timeline;
  double seconds = 0;  // of this run

  bool passed() const;
  std::vector<const MigrationStep*> culprits() const;  // kernels left on the source
};

// UserError (also for the state of another migration), PlatformError or InternalError are thrown
// (compiler room); a kernel that differs is a
// result, and so is one that crashes or hangs where the target's Platform::open is given.
Migration migrate(const Module& module, const std::map<std::string, HostTensor>& weights,
                  const std::vector<int32_t>& prompt, const Platform& source,
                  const Platform& target, const MigrateOptions& options);

}  // namespace tapml::topdown
