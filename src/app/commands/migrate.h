// The command behind `tapml migrate` and Python's migrate(): migrates a model.
#pragma once

#include "app/commands/choices.h"
#include "topdown/report/report_files.h"

namespace tapml::app {

struct MigrateCommand : RunInput {
  ModelChoice model;
  PlatformChoice source;
  std::vector<PlatformChoice> targets;             // at least one
  int64_t max_tokens = 64, validation_tokens = 4;  // as in topdown::MigrateOptions
  llm::SamplerOptions sampler;
  // See topdown::parse_plan().
  std::string order = "execution";
  std::vector<std::string> granularity = {"kernel"};
  int64_t hybrid_every = 1;
  bool stop_at_first = false;
  // Folder that records finished steps; with several targets, a folder for each inside it; empty:
  // none.
  std::string state;
  std::string kernels;  // folder of custom kernels; empty: none
  std::string fault;    // KERNEL:KIND, or TARGET/KERNEL:KIND; empty: none is injected
  ToleranceChoice tolerance;
  CacheOptions cache;
  std::optional<LibraryFiles> libraries;  // see routine_options()
  IsolationOptions isolation;
  bool one_session = false;  // kernels under test run in this process; overrides `isolation`
  bool for_report = false;   // MigrateOptions::for_report
  bool facts = true;         // adds facts to the texts, which hashes all weights
  std::optional<topdown::ImportCheck> import;  // of check_import(), for the facts
};

struct Migrated {
  topdown::Migrations migrations;
  // For reports: the command and its options, with decoded texts.
  topdown::MigrationsTexts texts;
  std::vector<std::string> warnings;

  bool several() const { return migrations.targets.size() > 1; }
};

// Throws like topdown::migrate(), and for options that do not fit together. With several targets,
// one that cannot be opened only has an error; if none can, throws the first error.
Migrated migrate(const MigrateCommand& command, const CommandHooks& hooks = {});

}  // namespace tapml::app
