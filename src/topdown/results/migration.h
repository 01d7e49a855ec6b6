// The result of a migration.
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
  std::string unit;  // the group that moved together, or the kernel's own name
  KernelVerdict verdict;
  ModelCheck hybrid;          // with this kernel and all migrated before it on the target
  bool migrated = false;      // else it stays on the source, at least in one layer
  int64_t dispatched = 0;     // kernel calls that ran on the target in the hybrid run
  runtime::CopyCount copies;  // between the two sessions in that run
  RepeatedCheck repeated;     // if the hybrid failed

  // Whether it stays because of a fault of its own: a hybrid that fails only sometimes accuses no
  // kernel.
  bool accused() const { return !migrated && (!verdict.passed || !repeated.flaky()); }
};

// A layer of the model, moved to the target as far as its kernels are right there.
struct LayerStep {
  std::string layer;                 // "model.layers.3", "lm_head"
  std::vector<std::string> kernels;  // that the layer calls, in the order of their first calls
  std::vector<std::string> left;     // those that stay on the source in this layer
  ModelCheck hybrid;  // with this layer and all earlier ones; no positions: nothing of it moved
  int64_t dispatched = 0;     // kernel calls that ran on the target in that run
  runtime::CopyCount copies;  // between the two sessions, in all runs of the layer
  bool tried = true;          // else the migration ended before this layer
  RepeatedCheck repeated;     // the last hybrid that failed
};

// What a report shows of a kernel that stays on the source.
struct FailedKernel {
  KernelSource source;
  // The failing call alone; empty if the kernel's tests pass.
  std::optional<Suite> suite;
};

// "migrated", "not proven" (which migrates, too), "mismatch", "hybrid mismatch", "hybrid fails",
// "flaky", or what failed ("crash", ...).
std::string outcome_of(const MigrationStep& step);

// The migration to one target.
struct Migration {
  std::string source, target;
  std::string allowances;  // of the target (allowances_text)
  DeviceInfo source_info, target_info;
  // In the source's run; then no kernel was tried.
  std::optional<SourceNaN> source_nan;
  // With several targets: the error that ended this one alone, after `steps`.
  std::optional<Error> error;
  std::vector<MigrationStep> steps;  // in the order of the plan
  std::vector<LayerStep> layers;     // with PlanOptions::layer_by_layer, in the order of the run
  std::vector<std::string> untried;  // kernels after its end (stop_at_first, an error)
  // The calls of each of those, none of them compared.
  std::vector<std::vector<CallGroup>> untried_calls;
  // Kernels that the target runs and that no call of the carved run tests.
  std::vector<KernelUse> untested;
  std::map<std::string, FailedKernel> failed;   // by kernel
  std::map<std::string, KernelSource> sources;  // of kernels that migrate, for a report
  int64_t resumed = 0;                          // steps taken over from an earlier run
  std::vector<int32_t> source_tokens, target_tokens;
  std::vector<TokenMargin> margins;  // of the tokens that hybrids and target are checked at
  bool target_ran = false;           // all kernels migrated, so the target ran the whole model
  ModelCheck whole;                  // the target alone
  RepeatedCheck repeated;            // if `whole` failed
  bool drawn = false;                // with a temperature: diverging texts decide nothing
  bool tie = false;  // tokens first diverged where the reference's margin is within the bound
  int64_t first_divergence = -1;
  SpeedTable speed;  // for a report
  // The steps of the source and of this target; steps of other targets are left out.
  std::vector<TimelineSpan> timeline;
  double seconds = 0;  // of this run, without work for other targets

  Verdict verdict() const;
  bool passed() const { return verdict() == Verdict::kPass; }
  // Whether the target ran the whole model correctly.
  bool whole_passed() const {
    return target_ran && whole.passed && (first_divergence < 0 || drawn || tie);
  }
  std::vector<const MigrationStep*> culprits() const;  // kernels left on the source, accused or not
};

// One per kernel, in the steps' order.
std::vector<const KernelVerdict*> verdicts_of(const Migration& migration);

// One model on several targets.
struct Migrations {
  std::vector<Migration> targets;  // in the order given
  double seconds = 0;

  Verdict verdict() const;  // FAIL if one fails, else NOT PROVEN if one is
  bool passed() const { return verdict() == Verdict::kPass; }
  const Error* error() const;  // of the first target with an error; null: none
};

}  // namespace tapml::topdown
