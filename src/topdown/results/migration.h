// What a migration found.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "abi/device_info.h"
#include "base/error.h"
#include "runtime/residency.h"
#include "topdown/profile/timeline.h"
#include "topdown/reference_run/model_check.h"
#include "topdown/reference_run/repeated_check.h"
#include "topdown/results/kernel_source.h"
#include "topdown/results/kernel_verdict.h"
#include "topdown/results/speed_table.h"
#include "topdown/results/verdict_line.h"
#include "topdown/suite/source_nan.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

struct MigrationStep {
  std::string unit;  // what moved together with it, by its own name
  KernelVerdict verdict;
  ModelCheck hybrid;          // with this kernel and all migrated before it on the target
  bool migrated = false;      // else it stays on the source, or does in a layer
  int64_t dispatched = 0;     // kernel calls that ran on the target in the hybrid run
  runtime::CopyCount copies;  // between the two sessions in that run
  RepeatedCheck repeated;     // where the hybrid failed

  // Whether it stays, and that is its own fault: a hybrid that is wrong only sometimes accuses
  // none.
  bool accused() const { return !migrated && (!verdict.passed || !repeated.flaky()); }
};

// A layer of the model that moved to the target as far as its kernels are right there.
struct LayerStep {
  std::string layer;                 // "model.layers.3", "lm_head"
  std::vector<std::string> kernels;  // that are called there, as they are first called
  std::vector<std::string> left;     // those of them that stay on the source there
  ModelCheck hybrid;       // with this layer and all before it; no positions: nothing of it moved
  int64_t dispatched = 0;  // kernel calls that ran on the target in that run
  runtime::CopyCount copies;  // between the two sessions in all of its runs
  bool tried = true;          // else the migration ended before it
  RepeatedCheck repeated;     // where a hybrid failed: of the last one that did
};

// What a reader of a report wants to see of a kernel that stays on the source.
struct FailedKernel {
  KernelSource source;
  // The failing call alone; empty where its tests pass.
  std::optional<Suite> suite;
};

// "migrated", "mismatch", "hybrid mismatch", "hybrid fails", "flaky", or what failed ("crash",
// ...).
std::string outcome_of(const MigrationStep& step);

// Of one target.
struct Migration {
  std::string source, target;
  DeviceInfo source_info, target_info;
  // In the source's run: no kernel was tried then.
  std::optional<SourceNaN> source_nan;
  // Of several targets: what ended this one alone. Its steps are those before that.
  std::optional<Error> error;
  std::vector<MigrationStep> steps;  // in the order of the plan
  std::vector<LayerStep> layers;     // with PlanOptions::layer_by_layer, in the order of the run
  std::vector<std::string> untried;  // kernels behind what ended it (stop_at_first, an error)
  // Calls of each of those, none of them judged.
  std::vector<std::vector<CallGroup>> untried_calls;
  // Kernels that the target runs and that no call of the carved run tests.
  std::vector<KernelUse> untested;
  std::map<std::string, FailedKernel> failed;  // by kernel
  int64_t resumed = 0;                         // steps that an earlier run had done
  std::vector<int32_t> source_tokens, target_tokens;
  bool target_ran = false;  // all kernels migrated, so the target ran the whole model
  ModelCheck whole;         // the target alone
  RepeatedCheck repeated;   // where that failed
  bool drawn = false;       // with a temperature: where texts part decides nothing
  bool tie = false;  // tokens diverged first where the reference's margin is within the bound
  int64_t first_divergence = -1;
  SpeedTable speed;  // with measure_speed
  // The source's steps and the target's own; between them, those of other targets are left out.
  std::vector<TimelineSpan> timeline;
  double seconds = 0;  // of this run, without what was done for other targets

  Verdict verdict() const;
  bool passed() const { return verdict() == Verdict::kPass; }
  // Whether the target ran the whole model, as well as it may.
  bool whole_passed() const {
    return target_ran && whole.passed && (first_divergence < 0 || drawn || tie);
  }
  std::vector<const MigrationStep*> culprits() const;  // kernels left on the source, accused or not
};

// Of every kernel, in the steps' order.
std::vector<const KernelVerdict*> verdicts_of(const Migration& migration);

// One model on several targets.
struct Migrations {
  std::vector<Migration> targets;  // as they were given
  double seconds = 0;

  Verdict verdict() const;  // FAIL where one fails, else NOT PROVEN where one is
  bool passed() const { return verdict() == Verdict::kPass; }
  const Error* error() const;  // the first target's that has one; null: none
};

}  // namespace tapml::topdown
