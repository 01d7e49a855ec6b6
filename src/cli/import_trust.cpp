#include "cli/import_trust.h"

#include <CLI/CLI.hpp>

#include "cli/kernel_progress.h"
#include "ir/exceptions.h"
#include "topdown/reference_run/published_run.h"
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
  add_python(command, python)
      ->description("Python that has PyTorch and transformers, for --trust torch")
      ->needs(option);
}

CLI::Option* ImportTrust::add_python(CLI::App& command, std::string& python) {
  return command.add_option("--python", python, "Python that has PyTorch and transformers")
      ->default_str(topdown::kDefaultPython);
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
  print_import(import, output);
  return import;
}

void print_import(const topdown::ImportCheck& import, const Output& output) {
  output.line("import: " + import_text(import));
  for (const std::string& text : difference_texts(import)) output.line("  " + text);
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
