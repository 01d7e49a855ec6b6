#include "cli/import_trust.h"

#include <CLI/CLI.hpp>

#include "cli/check_output.h"
#include "cli/kernel_progress.h"
#include "ir/exceptions.h"
#include "topdown/reference_run/published_run.h"
#include "topdown/report/ci_report.h"
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

void write_import_report(const topdown::ImportCheck& import, const topdown::ImportReport& report,
                         const std::string& folder, const Output& output) {
  if (folder.empty()) return;
  unwrap(topdown::write_import_report(import, report, folder));
  output.line("report: " + folder + "/report.html");
}

int refuse_import(const topdown::ImportCheck& import, const RefusedImport& refused,
                  const CiReportOptions& ci, const Output& output) {
  const topdown::ImportReport report = topdown::refused_import(
      import, refused.command, refused.model, refused.prompt, refused.python);
  check_report_folder(refused.report);
  write_import_report(import, report, refused.report, output);
  ci.write(topdown::ci_report(refused.title, import));
  output.document(Json::object({{"import", topdown::import_json(import)},
                                {"passed", Json::boolean(false)},
                                {"verdict", Json::string(verdict_word(report.line.verdict))}}));
  output.last_line(report.line.text());
  return kDifference;
}

}  // namespace tapml::cli
