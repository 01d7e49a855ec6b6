// Which bugs a case has: drawn, planted, and shown to change something.
#pragma once

#include "study/setting.h"
#include "topdown/faults/faulty_session.h"

namespace tapml::study {

constexpr int kRuns = 20;  // of each bug, to tell its rate
constexpr double kHarmless = 2;

struct Bug {
  std::string kernel;
  topdown::FaultKind kind = topdown::FaultKind::kOffByOne;
  tir::PrimFuncRef implementation;               // of kernels
  std::optional<topdown::SessionFault> session;  // of the runtime
  int changed = 0;                               // of kRuns
  // Of kernels: the outputs are as near to the specification's as those of the right kernel, within
  // a factor of kHarmless.
  bool harmless = false;
};

// The bugs of case `number`: a function of the seed, the model, the target and the number, whatever
// ran before. Kinds follow each other from case to case in an order drawn once, so that all come
// up.
std::vector<Bug> draw_bugs(Setting& setting, const Options& options, int64_t number);

// Plants those of kernels.
Setting::Rewrite rewrite_of(const std::vector<Bug>& bugs);
// The kernels that these change.
pipeline::KernelChoice rewritten_by(const std::vector<Bug>& bugs);
// Those of the runtime.
topdown::SessionFaults session_faults_of(const std::vector<Bug>& bugs);

}  // namespace tapml::study
