// The command that replays a suite: what `tapml replay` and Python's Replayer run.
#pragma once

#include "app/commands/choices.h"
#include "topdown/kernels/custom_source.h"
#include "topdown/profile/timeline.h"
#include "topdown/reference_run/kernel_reference.h"
#include "topdown/results/replay_options.h"
#include "topdown/results/replayed.h"
#include "topdown/runner/sandbox.h"

namespace tapml::app {

struct ReplayCommand {
  std::string name;                             // of the suite, as reports have it: its folder
  std::shared_ptr<const topdown::Suite> suite;  // null: it is read from that folder
  std::string model;                            // folder of weights by reference that have moved
  PlatformChoice target;
  std::string kernels;  // folder of custom kernels; empty: none
  std::string fault;    // KERNEL:KIND; empty: none is injected
  ToleranceChoice tolerance;
  PatternOptions patterns;
  CacheOptions cache;
  std::optional<LibraryFiles> libraries;  // as for routine_options()
  IsolationOptions isolation;
  topdown::ReplayOptions launches;
};

// What of the suite is run.
struct TestChoice {
  std::string kernel;  // names, how they begin, or a pattern; empty: all
  std::optional<int64_t> group;
  bool one = false;  // `kernel` means one kernel
};
struct WantedTests {
  std::vector<int32_t> kernels;  // with tests of their own
  std::vector<size_t> groups;
  std::vector<std::string> not_selected;     // kernels of the suite that were not asked for
  std::vector<topdown::KernelUse> untested;  // else: kernels without a test
  std::set<std::string> compiled;            // kernels of all these
};

// A suite and the platform that runs its tests. Throws (compiler room); for one thread at a time.
class SuiteReplay {
 public:
  // Opens the platform, and reads the suite and the custom kernels.
  SuiteReplay(ReplayCommand command, CommandHooks hooks);
  SuiteReplay(const SuiteReplay&) = delete;

  const topdown::Suite& suite() const { return *suite_; }
  topdown::KernelReference& reference() { return reference_; }
  topdown::Sandbox& sandbox() { return sandbox_; }

  // UserError for what the suite has not, and for a fault in what is not run.
  WantedTests wanted(const TestChoice& choice) const;
  // Compiles these kernels for the platform, or all for none, with the fault in theirs.
  void compile(const std::set<std::string>& kernels);
  // Runs what is compiled.
  topdown::Replayed run(const WantedTests& wanted, bool measure_speed);
  // Of the kernels that are right.
  topdown::SpeedTable measure_speed(const std::vector<topdown::KernelVerdict>& verdicts);
  // A warning for each tolerance that applies to no kernel of the suite.
  std::vector<std::string> warnings() const;
  // Of commands that show a failure again.
  topdown::CommandOptions options_again() const;

 private:
  SuiteReplay(ReplayCommand command, CommandHooks hooks, PlatformUnderTest platform);
  void poll() const;
  const std::string& name_of(int32_t kernel) const;

  ReplayCommand command_;
  CommandHooks hooks_;
  target::Target target_;
  std::unique_ptr<runtime::Session> session_;  // of this process, where the kernels run there
  std::vector<topdown::CustomSource> sources_;
  std::shared_ptr<const topdown::Suite> suite_;
  topdown::KernelReference reference_;
  topdown::Sandbox sandbox_;
  CompileCache cache_;
  topdown::Timeline timeline_;
};

}  // namespace tapml::app
