// The command behind `tapml localize` and Python's localize(): finds what makes a model wrong.
#pragma once

#include <chrono>

#include "app/commands/choices.h"
#include "topdown/results/localization.h"
#include "topdown/results/pass_bisection.h"
#include "topdown/results/run_facts.h"

namespace tapml::app {

// Options shared by both searches.
struct ModelRun : RunInput {
  ModelChoice model;
  PlatformChoice source, target;
  int64_t max_tokens = 4;  // decode steps of the run
  CacheOptions cache;
  std::optional<LibraryFiles> libraries;  // see routine_options()
  IsolationOptions isolation;
  // Fault to inject: KERNEL:KIND, or PASS:wrong-operator into passes.
  std::vector<std::string> faults;
  bool facts = true;                           // adds facts to the result, which hashes all weights
  std::optional<topdown::ImportCheck> import;  // of check_import(), for the facts
};

struct LocalizeCommand : ModelRun {
  // Tests to start with: a folder, or a suite, which may have a folder; if neither is given, the
  // prompt's run is carved.
  std::string suite_folder;
  std::shared_ptr<const topdown::Suite> suite;
  llm::SamplerOptions sampler;
  int64_t repeats = 5;
  std::chrono::milliseconds shrink_time{10'000};  // 0: do not search for a smallest input
  std::string kernels;                            // folder of custom kernels; empty: none
  ToleranceChoice tolerance;
};

struct Localized {
  topdown::Localization localization;
  std::string command;              // that reproduces this run
  std::string shown;                // RunTokens::shown
  topdown::CommandOptions options;  // for commands that reproduce a failure
  topdown::RunFacts run;
  std::vector<std::string> warnings;
};
// Throws like topdown::localize(), and for options that do not fit together.
Localized localize(const LocalizeCommand& command, const CommandHooks& hooks = {});

struct PassesBisected {
  topdown::PassBisection bisection;
  std::string command;
  std::string shown;  // RunTokens::shown
  topdown::RunFacts run;
};
// `kernels`, `tolerance` and the sampler are ignored for passes. Throws like
// topdown::bisect_passes(), and for faults that are not faults of a pass.
PassesBisected bisect_passes(const ModelRun& command, const CommandHooks& hooks = {});

}  // namespace tapml::app
