// The command that migrates a model: what `tapml migrate` and Python's migrate() run.
#pragma once

#include "app/commands/choices.h"
#include "topdown/report/report_files.h"

namespace tapml::app {

struct MigrateCommand {
  ModelChoice model;
  PlatformChoice source;
  std::vector<PlatformChoice> targets;  // one at least
  std::string prompt;
  int64_t max_tokens = 64, validation_tokens = 4;  // as in topdown::MigrateOptions
  llm::SamplerOptions sampler;
  // What topdown::parse_plan() takes.
  std::string order = "execution";
  std::vector<std::string> granularity = {"kernel"};
  bool stop_at_first = false;
  // Folder that keeps what is done, of several targets in a folder for each; empty: none does.
  std::string state;
  std::string kernels;  // folder of custom kernels; empty: none
  std::string fault;    // KERNEL:KIND, or TARGET/KERNEL:KIND; empty: none is injected
  ToleranceChoice tolerance;
  CacheOptions cache;
  std::optional<LibraryFiles> libraries;  // as for routine_options()
  IsolationOptions isolation;
  bool one_session = false;  // kernels under test run in this process, whatever `isolation` says
  bool measure_speed = false;
  bool facts = true;  // the texts say of what the result is, which hashes all weights
};

struct Migrated {
  topdown::Migrations migrations;
  // Of reports; the command and its options, texts decoded.
  topdown::MigrationsTexts texts;
  std::vector<std::string> warnings;

  bool several() const { return migrations.targets.size() > 1; }
};

// Throws as topdown::migrate(), and for options that mean nothing. Of several targets, one that
// cannot be opened has an error alone; where none can, that is thrown.
Migrated migrate(const MigrateCommand& command, const CommandHooks& hooks = {});

}  // namespace tapml::app
