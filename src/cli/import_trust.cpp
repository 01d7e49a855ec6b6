#include "cli/import_trust.h"

#include <CLI/CLI.hpp>

#include "cli/kernel_progress.h"
#include "ir/exceptions.h"
#include "topdown/report/ci_report.h"
#include "topdown/report/verdict_lines.h"
#include "topdown/results/result_json.h"

namespace tapml::cli {

void ImportTrust::add_to(CLI::App& command) {
  auto* option = command
                     .add_option("--trust", trust,
                                 "First compare the import with the published implementation: "
                                 "torch, for PyTorch and transformers (docs/verdicts.md)")
                     ->check(CLI::IsMember({"torch"}));
  command
      .add_option("--python", python, "Python that has PyTorch and transformers, for --trust torch")
      ->default_str("python3")
      ->needs(option);
}

std::optional<topdown::ImportCheck> ImportTrust::check(const std::string& model,
                                                       const std::string& prompt,
                                                       Progress& progress,
                                                       const Output& output) const {
  if (trust.empty()) return {};
  progress.begin("import", 0, Progress::kPatience);
  topdown::ImportCheck import = app::check_import(
      {.model = model, .prompt = prompt, .python = python}, command_hooks(progress));
  progress.end();
  output.line("import: " + import_text(import));
  for (const std::string& text : difference_texts(import)) output.line("  " + text);
  return import;
}

int refuse_import(const topdown::ImportCheck& import, const std::string& title,
                  const CiReportOptions& ci, const Output& output) {
  const topdown::VerdictLine verdict = topdown::verdict_line(import);
  ci.write(topdown::ci_report(title, import));
  output.document(Json::object({{"import", topdown::import_json(import)},
                                {"passed", Json::boolean(false)},
                                {"verdict", Json::string(verdict_word(verdict.verdict))}}));
  output.last_line(verdict.text());
  return kDifference;
}

}  // namespace tapml::cli
