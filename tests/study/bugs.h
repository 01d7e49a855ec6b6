// The bugs of a case: drawn, injected, and shown to have an effect.
#pragma once

#include "study/setting.h"
#include "topdown/faults/faulty_session.h"

namespace tapml::study {

constexpr int kRuns = 20;  // of each bug, to measure its rate
constexpr double kHarmless = 2;

struct Bug {
  std::string kernel;
  topdown::FaultKind kind = topdown::FaultKind::kOffByOne;
  tir::PrimFuncRef implementation;               // for bugs in kernels
  std::optional<topdown::SessionFault> session;  // for bugs in the runtime
  int changed = 0;                               // of kRuns
  // For bugs in kernels: the outputs are as near to the specification's as those of the correct
  // kernel, within a factor of kHarmless.
  bool harmless = false;
};

// The bugs of case `number`: a function of the seed, the model, the target and the number, whatever
// ran before. Kinds follow in an order that is drawn once, so that all occur.
std::vector<Bug> draw_bugs(Setting& setting, const Options& options, int64_t number);

// Injects the bugs in kernels.
Setting::Rewrite rewrite_of(const std::vector<Bug>& bugs);
// The kernels that these bugs change.
pipeline::KernelChoice rewritten_by(const std::vector<Bug>& bugs);
// The bugs in the runtime.
topdown::SessionFaults session_faults_of(const std::vector<Bug>& bugs);

}  // namespace tapml::study
