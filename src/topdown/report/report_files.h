// What a migration writes into the folder of its report.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "topdown/report/report.h"

namespace tapml::topdown {

// Texts that the reports of several targets show beside the numbers.
struct MigrationsTexts {
  std::vector<ReportTexts> targets;  // one a target
  std::vector<std::string> folders;  // of the targets' pages, beside that of all (target_folders)
  std::string command;               // that did all of it
  RunFacts run = {};
};

// A self-contained page with the targets side by side.
std::string migrations_html(const Migrations& migrations, const MigrationsTexts& texts);
// "targets": migration_json() of each with its texts; "kernels": the outcomes by target.
Json migrations_json(const Migrations& migrations, const MigrationsTexts& texts);

// Writes report.html, report.json (`json`) and what write_failures() does. The folder is there.
Status write_report(const Migration& migration, const ReportTexts& texts, const Json& json,
                    const std::string& folder);
// Writes report.html and report.json of all targets, and a folder for each.
Status write_report(const Migrations& migrations, const MigrationsTexts& texts,
                    const std::string& folder);

}  // namespace tapml::topdown
