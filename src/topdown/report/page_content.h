// What a page of top-down work shows, whichever command found it.
#pragma once

#include <string>
#include <vector>

#include "topdown/profile/timeline.h"
#include "topdown/reference_run/model_check.h"
#include "topdown/results/kernel_source.h"
#include "topdown/results/kernel_verdict.h"
#include "topdown/results/migration.h"
#include "topdown/results/run_facts.h"
#include "topdown/results/speed_table.h"
#include "topdown/results/verdict_line.h"

namespace tapml::topdown {

enum class KernelState : uint8_t {
  kPassed,
  kMismatch,        // outside of its bound
  kHybridMismatch,  // its tests pass, the model with it is wrong
  kFails,           // crash, timeout, ...
  kUntested,
};
// What tells states apart without their colours: one character.
const char* state_sign(KernelState state);
const char* state_class(KernelState state);  // of the style sheet
const char* state_name(KernelState state);
KernelState state_of(const MigrationStep& step);

struct PageKernel {
  std::string name;
  KernelState state = KernelState::kUntested;
  std::string outcome;                     // "migrated", ...
  const KernelVerdict* verdict = nullptr;  // null: not tested
  Origin layers;                           // where there is no verdict
  std::vector<CallGroup> groups;           // its calls
  // The model's check with it on the target; null: there was none.
  const ModelCheck* hybrid = nullptr;
  const KernelSource* source = nullptr;
  std::string reproducer;    // a command; empty: none
  bool beside_page = false;  // it names what lies beside the page, all else by absolute paths
  std::vector<std::pair<std::string, std::string>> details;  // more rows about a failure

  bool wrong() const { return state != KernelState::kPassed && state != KernelState::kUntested; }
};

struct PageCheck {
  std::string name;  // "opencl alone"
  ModelCheck check;
};
struct PageText {
  std::string name, text;
};
struct PageDevice {
  std::string role, target;
  DeviceInfo info;
};

struct PageContent {
  std::string command;  // "migrate"
  std::string title;    // "models/demo: cpu to opencl"
  VerdictLine line;
  std::string verdict;  // one sentence
  std::vector<PageKernel> kernels;
  std::vector<LayerStep> layers;      // of a migration that goes layer by layer
  std::vector<PageText> texts;        // prompt, continuations
  std::vector<PageCheck> checks;      // of the whole model
  const SpeedTable* speed = nullptr;  // null: not measured
  std::vector<std::string> remarks;   // lines: copies, how much was resumed
  std::vector<TimelineSpan> timeline;
  double seconds = 0;
  std::vector<PageDevice> devices;
  std::string command_line;
  RunFacts run;
  std::string above;  // file of the page that leads to this one; empty: none does
};

// One self-contained page: nothing is fetched, no script runs.
std::string report_page(const PageContent& content);

// The anchor of kernel `index` of the page's table, and of the part about its failure.
std::string kernel_anchor(size_t index);
std::string failure_anchor(size_t index);

}  // namespace tapml::topdown
