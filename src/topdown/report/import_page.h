// The report of an import that was compared with its published implementation, and of nothing else.
#pragma once

#include <string>

#include "base/result.h"
#include "topdown/results/run_facts.h"
#include "topdown/results/verdict_line.h"

namespace tapml::topdown {

struct ImportReport {
  std::string command;       // that compares: "check-import", "migrate"
  std::string model;         // as given to it
  VerdictLine line;          // of the command
  std::string command_line;  // that compares again
};

// Of a command that ends because the import differs.
ImportReport refused_import(const ImportCheck& import, const std::string& command,
                            const std::string& model, const std::string& prompt,
                            const std::string& python);

// One self-contained page.
std::string import_html(const ImportCheck& import, const ImportReport& report, const RunFacts& run);
// Writes report.html and report.json ("import", "passed", "verdict", "run") into the folder, which
// exists. The facts are those of now.
Status write_import_report(const ImportCheck& import, const ImportReport& report,
                           const std::string& folder);

}  // namespace tapml::topdown
