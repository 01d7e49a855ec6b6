// The content of a page about top-down work, for all commands.
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
  kMismatch,        // outside its bound
  kHybridMismatch,  // its tests pass, but the model with it is wrong
  kFails,           // crash, timeout, ...
  kUntested,        // by no call, or by none with a bound for one of its outputs
};
// One character that distinguishes states without color.
const char* state_sign(KernelState state);
const char* state_class(KernelState state);  // in the style sheet
const char* state_name(KernelState state);
KernelState state_of(const KernelVerdict& verdict);
KernelState state_of(const MigrationStep& step);

struct PageKernel {
  std::string name;
  KernelState state = KernelState::kUntested;
  std::string outcome;                     // "migrated", ...
  const KernelVerdict* verdict = nullptr;  // null: not tested
  Origin layers;                           // if there is no verdict
  std::vector<CallGroup> groups;           // its calls
  // The model's check with this kernel on the target; null: none.
  const ModelCheck* hybrid = nullptr;
  const KernelSource* source = nullptr;
  std::string reproducer;    // a command; empty: none
  bool beside_page = false;  // it names a folder next to the page; other paths are absolute
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
struct PageToken {
  std::string text;
  TokenMargin margin;
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
  std::vector<LayerStep> layers;      // of a layer-by-layer migration
  std::vector<PageText> texts;        // prompt, continuations
  std::vector<PageToken> tokens;      // that the reference chooses, position by position
  std::vector<PageCheck> checks;      // of the whole model
  const SpeedTable* speed = nullptr;  // null: not measured
  std::vector<std::string> remarks;   // lines: copies, how much was resumed
  std::vector<TimelineSpan> timeline;
  double seconds = 0;
  std::vector<PageDevice> devices;
  std::string command_line;
  RunFacts run;
  std::string above;  // file of the page that links to this one; empty: none
};

// One self-contained page without external files. Its script only sorts tables.
std::string report_page(const PageContent& content);

// The anchor of kernel `index` in the page's table, and that of its failure.
std::string kernel_anchor(size_t index);
std::string failure_anchor(size_t index);

}  // namespace tapml::topdown
