// tapml check-import: compares a model as tapml reads it with its published implementation.
#include "app/commands/check_import.h"

#include <CLI/CLI.hpp>

#include "base/host/progress.h"
#include "base/strings.h"
#include "cli/check_output.h"
#include "cli/ci_reports.h"
#include "cli/command.h"
#include "cli/import_trust.h"
#include "cli/kernel_progress.h"
#include "cli/options.h"
#include "ir/exceptions.h"
#include "topdown/report/ci_report.h"
#include "topdown/report/command_line.h"
#include "topdown/report/verdict_lines.h"
#include "topdown/results/result_json.h"

namespace tapml::cli {

namespace {

struct CheckImportOptions {
  std::string model, config, prompt, python;
  std::vector<int32_t> tokens;
  uint64_t seed = 0;
  std::string report;
  CiReportOptions ci;
  const CLI::Option* seed_option = nullptr;
};

void check(const CheckImportOptions& options) {
  if (options.model.empty() == options.config.empty()) {
    throw_user("one input is needed", "command line", "MODEL or --config config.json",
               options.model.empty() ? "neither" : "both");
  }
  if (!options.config.empty() && !options.prompt.empty()) {
    throw_user("a configuration alone has no tokenizer", "--prompt", "none with --config",
               in_quotes(options.prompt), "give --tokens, or neither: then tokens are random");
  }
  if (options.config.empty() && options.seed_option->count() > 0) {
    throw_user("a model directory has its own weights", "--seed", "none without --config",
               std::to_string(options.seed));
  }
  options.ci.check();
  check_report_folder(options.report);
}

topdown::ImportCheck compare(const CheckImportOptions& options, const CommandHooks& hooks) {
  if (options.config.empty()) {
    return app::check_import(app::CheckImportCommand{.model = options.model,
                                                     .prompt = options.prompt,
                                                     .python = options.python,
                                                     .tokens = options.tokens,
                                                     .warn = true},
                             hooks);
  }
  return app::check_import(app::CheckConfigCommand{.config = options.config,
                                                   .seed = options.seed,
                                                   .python = options.python,
                                                   .tokens = options.tokens},
                           hooks);
}

int run(const CheckImportOptions& options, const Output& output) {
  check(options);
  const std::string& model = options.config.empty() ? options.model : options.config;
  Progress progress = Progress::to_stderr(output.json);
  progress.begin("import", 0, Progress::kPatience);
  const topdown::ImportCheck import = compare(options, command_hooks(progress));
  progress.end();
  print_import(import, output);
  const topdown::VerdictLine verdict = topdown::import_verdict_line(import);
  write_import_report(import,
                      {.command = "check-import",
                       .model = model,
                       .line = verdict,
                       .command_line = topdown::check_import_command({.model = options.model,
                                                                      .config = options.config,
                                                                      .prompt = options.prompt,
                                                                      .python = options.python,
                                                                      .tokens = options.tokens,
                                                                      .seed = options.seed})},
                      options.report, output);
  topdown::CiReport report = topdown::ci_report("tapml check-import " + model, import);
  report.line = verdict;
  options.ci.write(report);
  output.document(Json::object({{"model", Json::string(model)},
                                {"import", topdown::import_json(import)},
                                {"passed", Json::boolean(import.passed())},
                                {"verdict", Json::string(verdict_word(verdict.verdict))}}));
  output.last_line(verdict.text());
  return import.passed() ? kDone : kDifference;
}

}  // namespace

void add_check_import(Registration registration) {
  auto* app = registration.app.add_subcommand(
      "check-import", "Compare a model as tapml reads it with its published implementation");
  app->footer("Example: tapml check-import models/demo --prompt \"Emma was\"");
  auto options = std::make_shared<CheckImportOptions>();
  app->add_option("model", options->model, "Hugging Face model directory");
  app->add_option("--config", options->config,
                  "Model configuration to check with random weights (config.json)");
  auto* prompt =
      app->add_option("--prompt", options->prompt, "Text whose first tokens are compared");
  auto* tokens = app->add_option("--tokens", options->tokens,
                                 "Ids of the text's tokens in place of a prompt, such as 5,17,3");
  tokens->delimiter(',')->allow_extra_args(false)->excludes(prompt);
  add_seed_option(*app, options->seed, "Seed of the random weights, with --config");
  options->seed_option = app->get_option("--seed");
  ImportTrust::add_python(*app, options->python);
  app->add_option("--report", options->report, "Folder for report.html and report.json");
  options->ci.add_to(*app);
  app->get_option("--junit")->description("File for a JUnit XML report with one case");
  set_runner(*app, registration, options, run);
}

}  // namespace tapml::cli
