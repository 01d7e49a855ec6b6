// The result of a localization.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "abi/device_info.h"
#include "topdown/profile/timeline.h"
#include "topdown/reference_run/model_check.h"
#include "topdown/reference_run/repeated_check.h"
#include "topdown/results/kernel_source.h"
#include "topdown/results/kernel_verdict.h"
#include "topdown/results/verdict_line.h"
#include "topdown/suite/source_nan.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

// The smallest failing input found: a suite of one kernel and one call.
struct SmallestCall {
  Suite suite;
  KernelVerdict verdict;                                                 // of that call
  std::vector<std::pair<std::string, int64_t>> dims_before, dims_after;  // symbolic, by name
  int64_t bytes_before = 0, bytes_after = 0;                             // of the inputs
  int64_t nonzero_before = 0, nonzero_after = 0;                         // elements of the inputs
  int64_t tries = 0;
  bool complete = true;  // false: time ran out before the input was minimal
};

enum class Evidence : uint8_t {
  kReplay,  // a carved test fails
  kHybrid,  // its tests pass, but a model with it on the target is wrong each time
  kTarget,  // hybrids pass, too; the target alone is wrong, and right with it on the source
};
const char* evidence_name(Evidence evidence);  // "replay", "hybrid", "target"

struct Culprit {
  std::string kernel;
  Evidence evidence = Evidence::kReplay;
  // Other kernels that must be on the target, too, for the model to be wrong.
  std::vector<std::string> together_with;
  // With kTarget: other culprits whose weights are packed at load by the same launches. The
  // target's VM runs these once for all of them; each test and hybrid runs them separately.
  std::vector<std::string> same_preparation;
  KernelVerdict verdict;  // of its carved tests
  ModelCheck hybrid;      // otherwise: the run with it, and `together_with`, on the target
  int64_t runs = 0, failed_runs = 0;
  // If a carved test fails: the worst call alone, and what it was reduced to.
  std::optional<Suite> failing;
  std::optional<SmallestCall> smallest;
  KernelSource source;
};

std::string found_text(const Culprit& culprit);  // "mismatch", "wrong in the model", ...

struct Localization {
  std::string source, target;
  DeviceInfo source_info, target_info;
  // In the source's run, if that was carved; then no kernel was tried.
  std::optional<SourceNaN> source_nan;
  std::vector<KernelVerdict> verdicts;  // of all kernels, in order of first call
  std::vector<Culprit> culprits;
  // Kernels without a test that generation calls on the target.
  std::vector<KernelUse> untested;
  std::string incomplete;  // why the given suite has only a part of its runs; empty: it has all
  int64_t hybrid_runs = 0;
  ModelCheck rest;  // the run with all kernels but the culprits on the target
  // Without culprits: the target alone. If it is wrong, the fault is outside the kernels: in its
  // memory plan or its runtime.
  bool target_ran = false;
  ModelCheck whole;
  // Checks of the model that failed in some runs only, so that no kernel can be blamed.
  std::vector<RepeatedCheck> flaky;
  std::vector<TimelineSpan> timeline;
  double seconds = 0;

  bool found() const {
    return source_nan || !culprits.empty() || !flaky.empty() || (target_ran && !whole.passed);
  }
  Verdict verdict() const {
    if (found()) return Verdict::kFail;
    const bool proven = std::ranges::all_of(verdicts, &KernelVerdict::proven);
    return proven && untested.empty() && incomplete.empty() ? Verdict::kPass : Verdict::kNotProven;
  }
};

// One per kernel of the suite, in its order.
std::vector<const KernelVerdict*> verdicts_of(const Localization& localization);

}  // namespace tapml::topdown
