// Finds the kernels that make a model wrong on a platform: by their carved tests first; if these
// pass, by bisection over hybrid runs.
#pragma once

#include <optional>

#include "library/choose.h"
#include "pipeline/compile.h"
#include "topdown/faults/inject_fault.h"
#include "topdown/kernels/custom_source.h"
#include "topdown/localize/shrink.h"
#include "topdown/profile/timeline.h"
#include "topdown/reference_run/repeated_check.h"
#include "topdown/results/localization.h"
#include "topdown/results/verdict_line.h"
#include "topdown/runner/hybrid.h"
#include "topdown/runner/kernel_event.h"
#include "topdown/source_run/source_run.h"
#include "topdown/suite/coverage.h"
#include "topdown/suite/source_nan.h"

namespace tapml::topdown {

struct LocalizeOptions : SourceRunOptions {
  // Initial tests, of the same model; empty: the prompt's run is carved.
  std::optional<Suite> suite;
  int64_t repeats = 5;  // runs of each culprit, to determine its rate
  // The time limit for the smallest failing input of each culprit; 0: none is searched.
  std::chrono::milliseconds shrink_time{10'000};
  std::vector<std::string> faults;  // KERNEL:KIND
  // Custom kernels for the target (CustomKernels).
  std::vector<CustomSource> custom_sources;
  // Rewrites each of the target's implementations after scheduling; may be empty.
  std::function<tir::PrimFuncRef(const std::string& kernel, tir::PrimFuncRef scheduled)> rewrite;
  pipeline::KernelChoice rewrites;  // the kernels it may change; empty: all
};

// Throws UserError (also for a suite of another model), PlatformError, InternalError.
Localization localize(const Module& module, const std::map<std::string, HostTensor>& weights,
                      const std::vector<int32_t>& prompt, const Platform& source,
                      const Platform& target, const LocalizeOptions& options);

}  // namespace tapml::topdown
