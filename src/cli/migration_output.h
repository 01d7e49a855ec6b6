// What `migrate` prints.
#pragma once

#include <string>

#include "cli/command.h"
#include "topdown/report/report_files.h"

namespace tapml::cli {

// Prints the source's continuation.
void print_source(const Output& output, const std::string& source,
                  const topdown::ReportTexts& texts);
// Prints a row for each kernel, then the outcome for the whole model. `state`: the folder with
// finished steps.
void print_migration(const Output& output, const topdown::Migration& migration,
                     const topdown::ReportTexts& texts, const std::string& state);
// Prints the targets side by side, then one after the other: only rows of kernels that have more to
// report than that they migrated.
void print_migrations(const Output& output, const topdown::Migrations& migrations,
                      const topdown::MigrationsTexts& texts, const std::string& state);

}  // namespace tapml::cli
