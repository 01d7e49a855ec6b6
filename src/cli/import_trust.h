// --trust and --python: commands that first check a model's import against its published
// implementation.
#pragma once

#include <optional>
#include <string>

#include "app/commands/check_import.h"
#include "base/host/progress.h"
#include "cli/ci_reports.h"
#include "cli/command.h"
#include "topdown/report/import_page.h"

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
// Writes report.html and report.json, unless the folder is empty, and prints where.
void write_import_report(const topdown::ImportCheck& import, const topdown::ImportReport& report,
                         const std::string& folder, const Output& output);

// A command that ends because the import differs.
struct RefusedImport {
  std::string command;  // "migrate"
  std::string title;    // for CI
  std::string model, prompt, python;
  std::string report;  // folder; empty: none
};
// Reports an import that differs; returns the exit code.
int refuse_import(const topdown::ImportCheck& import, const RefusedImport& refused,
                  const CiReportOptions& ci, const Output& output);

}  // namespace tapml::cli
