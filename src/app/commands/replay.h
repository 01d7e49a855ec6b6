// The command behind `tapml replay` and Python's Replayer: replays a suite.
#pragma once

#include "app/commands/choices.h"
#include "pipeline/compile.h"
#include "topdown/kernels/custom_source.h"
#include "topdown/profile/timeline.h"
#include "topdown/reference_run/kernel_reference.h"
#include "topdown/results/replay_options.h"
#include "topdown/results/replayed.h"
#include "topdown/runner/sandbox.h"

namespace tapml::app {

struct ReplayCommand {
  std::string name;                             // the suite's folder, as in reports
  std::shared_ptr<const topdown::Suite> suite;  // null: read from that folder
  std::string model;  // folder of weights that the suite refers to, if moved
  PlatformChoice target;
  std::string kernels;  // folder of custom kernels; empty: none
  std::string fault;    // KERNEL:KIND; empty: none is injected
  ToleranceChoice tolerance;
  PatternOptions patterns;
  CacheOptions cache;
  std::optional<LibraryFiles> libraries;  // see routine_options()
  IsolationOptions isolation;
  topdown::ReplayOptions launches;
};

// Selects the tests of a suite to run.
struct TestChoice {
  std::string kernel;  // names, prefixes of names, or a pattern; empty: all
  std::optional<int64_t> group;
  bool one = false;  // `kernel` must select one kernel
};
struct WantedTests {
  std::vector<int32_t> kernels;  // those with tests of their own
  std::vector<size_t> groups;
  std::vector<std::string> not_selected;     // kernels of the suite that the choice excludes
  std::vector<topdown::KernelUse> untested;  // other kernels without a test
  std::set<std::string> compiled;            // all kernels that these tests need
};

// A suite and the platform that runs its tests. Throws, like the compiler component; not
// thread-safe.
class SuiteReplay {
 public:
  // Opens the platform, and reads the suite and the custom kernels.
  SuiteReplay(const ReplayCommand& command, const CommandHooks& hooks);
  SuiteReplay(const SuiteReplay&) = delete;

  const topdown::Suite& suite() const { return *suite_; }
  topdown::KernelReference& reference() { return reference_; }
  topdown::Sandbox& sandbox() { return sandbox_; }

  // UserError for a choice that the suite does not have, and for a fault in a kernel that does not
  // run.
  WantedTests wanted(const TestChoice& choice) const;
  // Compiles these kernels for the platform, or all if empty, with the fault injected.
  void compile(const std::set<std::string>& kernels);
  // Runs the compiled kernels.
  topdown::Replayed run(const WantedTests& wanted, bool for_report);
  // What only a report has: measures the kernels that pass, and adds the code of all.
  void complete(topdown::Replayed& replayed);
  // A warning for each tolerance that applies to no kernel of the suite.
  std::vector<std::string> warnings() const;
  // Options for commands that reproduce a failure.
  topdown::CommandOptions options_again() const;

 private:
  SuiteReplay(ReplayCommand command, CommandHooks hooks, PlatformUnderTest platform);
  void poll() const;
  const std::string& name_of(int32_t kernel) const;

  ReplayCommand command_;
  CommandHooks hooks_;
  target::Target target_;
  std::unique_ptr<runtime::Session> session_;  // of this process, if the kernels run in it
  std::vector<topdown::CustomSource> sources_;
  std::shared_ptr<const topdown::Suite> suite_;
  topdown::KernelReference reference_;
  topdown::Sandbox sandbox_;
  CompileCache cache_;
  pipeline::ImplementOptions implement_;  // of compile()
  topdown::Timeline timeline_;
};

}  // namespace tapml::app
