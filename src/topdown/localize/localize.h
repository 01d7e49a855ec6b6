// Which kernels make a model wrong on a platform: by their carved tests first; where these pass, by
// bisection over hybrid runs.
#pragma once

#include <optional>

#include "topdown/kernels/plant.h"
#include "topdown/kernels/user_source.h"
#include "topdown/localize/shrink.h"
#include "topdown/profile/timeline.h"
#include "topdown/replay/hybrid.h"
#include "topdown/replay/kernel_event.h"
#include "topdown/replay/kernel_source.h"
#include "topdown/suite/source_nan.h"
#include "topdown/verdict/coverage.h"
#include "topdown/verdict/repeated_check.h"
#include "topdown/verdict/verdict_line.h"

namespace tapml::topdown {

struct LocalizeOptions {
  // Tests to start with, of the same model; empty: the prompt's run is carved.
  std::optional<Suite> suite;
  int64_t validation_tokens = 4;  // decode steps of that run, teacher-forced in hybrids
  std::vector<int32_t> eos;
  llm::SamplerOptions sampler;  // how that run is continued
  int64_t repeats = 5;          // runs of each culprit, to tell its rate
  // For the smallest failing input of each culprit; 0: none is looked for.
  std::chrono::milliseconds shrink_time{10'000};
  std::vector<std::string> plants;  // KERNEL:KIND
  Tolerances tolerances;
  library::LibraryOptions libraries;
  // Kernels of the user's own, for the target (UserKernels).
  std::vector<UserSource> user_sources;
  // Where compiled kernels are looked for and kept; null: nowhere.
  pipeline::KernelCache* cache = nullptr;
  // Sees each of the target's implementations after scheduling; may be empty.
  std::function<tir::PrimFuncRef(const std::string& kernel, tir::PrimFuncRef scheduled)> rewrite;
  pipeline::KernelChoice rewrites;  // which of them it may change; empty: all
  // As in MigrateOptions.
  std::function<void(const std::string& step, int64_t done, int64_t total)> progress;
  WorkWatcher watcher;
  KernelWatcher watch;
  std::function<bool()> cancelled;
  const std::atomic<bool>* interrupt = nullptr;
};

enum class Evidence : uint8_t {
  kReplay,  // a carved test fails
  kHybrid,  // its tests pass, and a model with it on the target is wrong each time
  kTarget,  // hybrids pass, too; the target alone is wrong, and right with it on the source
};
const char* evidence_name(Evidence evidence);  // "replay", "hybrid", "target"

struct Culprit {
  std::string kernel;
  Evidence evidence = Evidence::kReplay;
  // Others that have to be on the target, too, for the model to be wrong.
  std::vector<std::string> together_with;
  // With kTarget: other culprits whose weights are packed at load by the same launches. The
  // target's machine runs these once for all of them; each test and hybrid runs them itself.
  std::vector<std::string> same_preparation;
  KernelVerdict verdict;  // of its carved tests
  ModelCheck hybrid;      // else: the run with it, and `together_with`, on the target
  int64_t runs = 0, failed_runs = 0;
  // Where a carved test fails: the worst call alone, and what could be made of it.
  std::optional<Suite> failing;
  std::optional<SmallestCall> smallest;
  KernelSource source;
};

struct Localization {
  std::string source, target;
  DeviceInfo source_info, target_info;
  // In the source's run, where that was carved: no kernel was tried then.
  std::optional<SourceNaN> source_nan;
  std::vector<KernelVerdict> verdicts;  // of all kernels, in order of first call
  std::vector<Culprit> culprits;
  // Kernels that a generation calls on the target and that have no test.
  std::vector<KernelUse> untested;
  std::string incomplete;  // why the given suite has a part of its runs only; empty: it has all
  int64_t hybrid_runs = 0;
  ModelCheck rest;  // the run with all kernels but the culprits on the target
  // Without culprits: the target alone. Wrong then is what is not in kernels: its memory plan, its
  // runtime.
  bool target_ran = false;
  ModelCheck whole;
  // Runs of the model that were wrong, and not each time: nothing says whose fault that is.
  std::vector<RepeatedCheck> flaky;
  std::vector<TimelineSpan> timeline;
  double seconds = 0;

  bool found() const {
    return source_nan || !culprits.empty() || !flaky.empty() || (target_ran && !whole.passed);
  }
  Verdict verdict() const {
    if (found()) return Verdict::kFail;
    return untested.empty() && incomplete.empty() ? Verdict::kPass : Verdict::kNotProven;
  }
};

// Throws UserError (a suite of another model too), PlatformError, InternalError.
Localization localize(const Module& module, const std::map<std::string, HostTensor>& weights,
                      const std::vector<int32_t>& prompt, const Platform& source,
                      const Platform& target, const LocalizeOptions& options);

}  // namespace tapml::topdown
