// The files in the folder of a migration's report.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "topdown/report/report.h"

namespace tapml::topdown {

// Texts that the reports of several targets show in addition to the results.
struct MigrationsTexts {
  std::vector<ReportTexts> targets;  // one per target
  std::vector<std::string>
      folders;          // of the targets' pages, relative to the common page (target_folders)
  std::string command;  // for the whole migration
  RunFacts run = {};
};

// A self-contained page with the targets side by side.
std::string migrations_html(const Migrations& migrations, const MigrationsTexts& texts);
// "targets": migration_json() of each with its texts; "kernels": the outcomes by target.
Json migrations_json(const Migrations& migrations, const MigrationsTexts& texts);

// Writes report.html, report.json (`json`) and the files of write_failures(). The folder exists.
Status write_report(const Migration& migration, const ReportTexts& texts, const Json& json,
                    const std::string& folder);
// Writes report.html and report.json of all targets, and a folder for each.
Status write_report(const Migrations& migrations, const MigrationsTexts& texts,
                    const std::string& folder);

}  // namespace tapml::topdown
