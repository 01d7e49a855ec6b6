// The result of a replay.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "abi/device_info.h"
#include "topdown/profile/timeline.h"
#include "topdown/results/kernel_source.h"
#include "topdown/results/kernel_verdict.h"
#include "topdown/results/run_facts.h"
#include "topdown/results/speed_table.h"
#include "topdown/results/verdict_line.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

struct Replayed {
  std::string suite, target;
  std::string allowances;                 // of the target (allowances_text)
  std::vector<KernelVerdict> verdicts;    // of kernels, then of groups
  std::vector<KernelUse> untested;        // kernels of the model without a test
  std::vector<std::string> not_selected;  // kernels of the suite that were not selected
  std::string incomplete;                 // of the suite (Suite::incomplete)
  DeviceInfo target_info;
  SpeedTable speed;                             // empty: not measured
  std::map<std::string, KernelSource> sources;  // of kernels, for a report
  std::vector<TimelineSpan> timeline;
  double seconds = 0;
  RunFacts run;

  Verdict verdict() const;
  bool passed() const { return verdict() == Verdict::kPass; }
};
// One per test, in their order.
std::vector<const KernelVerdict*> verdicts_of(const Replayed& replayed);

}  // namespace tapml::topdown
