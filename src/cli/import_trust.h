// --trust and --python: commands that first judge a model's import by its published implementation.
#pragma once

#include <optional>
#include <string>

#include "app/commands/check_import.h"
#include "base/host/progress.h"
#include "cli/ci_reports.h"
#include "cli/command.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tapml::cli {

struct ImportTrust {
  std::string trust, python;

  void add_to(CLI::App& command);
  // --python alone, for a command that always compares.
  static CLI::Option* add_python(CLI::App& command, std::string& python);
  // Empty without --trust. Prints what the comparison found.
  std::optional<topdown::ImportCheck> check(const std::string& model, const std::string& prompt,
                                            Progress& progress, const Output& output) const;
};

// Prints what a comparison found.
void print_import(const topdown::ImportCheck& import, const Output& output);

// Reports an import that differs, which ends the command `title`; returns the exit code.
int refuse_import(const topdown::ImportCheck& import, const std::string& title,
                  const CiReportOptions& ci, const Output& output);

}  // namespace tapml::cli
