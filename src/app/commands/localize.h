// The command that names what makes a model wrong: what `tapml localize` and Python's localize()
// run.
#pragma once

#include <chrono>

#include "app/commands/choices.h"
#include "topdown/results/localization.h"
#include "topdown/results/pass_bisection.h"
#include "topdown/results/run_facts.h"

namespace tapml::app {

// What both ways of looking for it share.
struct ModelRun {
  ModelChoice model;
  PlatformChoice source, target;
  std::string prompt;
  int64_t max_tokens = 4;  // decode steps of the run
  CacheOptions cache;
  std::optional<LibraryFiles> libraries;  // as for routine_options()
  IsolationOptions isolation;
  // Injected: KERNEL:KIND, or PASS:wrong-operator into passes.
  std::vector<std::string> faults;
  bool facts = true;  // the result says of what it is, which hashes all weights
};

struct LocalizeCommand : ModelRun {
  // Tests to start with: a folder, or a suite, which may have a folder; the prompt's run is carved
  // where neither is given.
  std::string suite_folder;
  std::shared_ptr<const topdown::Suite> suite;
  llm::SamplerOptions sampler;
  int64_t repeats = 5;
  std::chrono::milliseconds shrink_time{10'000};  // 0: no smallest input is looked for
  std::string kernels;                            // folder of custom kernels; empty: none
  ToleranceChoice tolerance;
};

struct Localized {
  topdown::Localization localization;
  std::string command;              // that does the same
  topdown::CommandOptions options;  // of commands that show a failure again
  topdown::RunFacts run;
  std::vector<std::string> warnings;
};
// Throws as topdown::localize(), and for options that mean nothing.
Localized localize(const LocalizeCommand& command, const CommandHooks& hooks = {});

struct PassesBisected {
  topdown::PassBisection bisection;
  std::string command;
  topdown::RunFacts run;
};
// `kernels`, `tolerance` and the sampler have no meaning for passes. Throws as
// topdown::bisect_passes(), and for faults that are not one of a pass.
PassesBisected bisect_passes(const ModelRun& command, const CommandHooks& hooks = {});

}  // namespace tapml::app
