// What `migrate` prints.
#pragma once

#include <string>

#include "cli/command.h"
#include "topdown/report/report_files.h"

namespace tapml::cli {

// The source's continuation.
void print_source(const Output& output, const std::string& source,
                  const topdown::ReportTexts& texts);
// A row for each kernel, then what became of the whole model. `state`: the folder that kept steps.
void print_migration(const Output& output, const topdown::Migration& migration,
                     const topdown::ReportTexts& texts, const std::string& state);
// The targets side by side, then one after the other: rows of those kernels
// alone of which there is more to tell than that they have moved.
void print_migrations(const Output& output, const topdown::Migrations& migrations,
                      const topdown::MigrationsTexts& texts, const std::string& state);

}  // namespace tapml::cli
