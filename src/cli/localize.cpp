// tapml localize: finds the kernels that make a model wrong on a platform.
#include "app/commands/localize.h"

#include <CLI/CLI.hpp>

#include "abi/platforms.h"
#include "base/host/progress.h"
#include "base/host/terminal.h"
#include "cli/check_output.h"
#include "cli/ci_reports.h"
#include "cli/command.h"
#include "cli/import_trust.h"
#include "cli/kernel_progress.h"
#include "cli/options.h"
#include "cli/tolerance_options.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "topdown/report/localize_report.h"
#include "topdown/report/pass_report.h"
#include "topdown/report/report.h"
#include "topdown/report/verdict_lines.h"
#include "topdown/results/result_json.h"

namespace tapml::cli {

namespace {

struct LocalizeCommand {
  std::string model, from = kDefaultPlatform, to = kDefaultNewPlatform, prompt, suite, report,
                     custom_kernels, bisect = "kernels";
  std::vector<std::string> faults;
  int64_t max_tokens = 4, repeats = 5;
  llm::SamplerOptions sampler;
  double shrink_seconds = 10;
  CacheOptions cache;
  PatternOptions patterns;
  app::ModelFormat format;
  app::TextInputOptions inputs;
  app::EncoderTexts texts;
  LibraryFiles libraries;
  RemoteOptions remote;
  IsolationOptions isolation;
  ToleranceOptions tolerance;
  CiReportOptions ci;
  ImportTrust trust;
  std::vector<const CLI::Option*> of_kernels;  // options that --bisect passes ignores
};

std::string title_of(const LocalizeCommand& command) {
  return "tapml localize " + command.model + ": " + command.from + " to " + command.to;
}

RefusedImport refused_of(const LocalizeCommand& command, const ModelRun& run) {
  return {.command = "localize",
          .title = title_of(command),
          .model = command.model,
          .prompt = run.first(),
          .python = command.trust.python,
          .report = command.report};
}

// Options shared by both searches.
void set_shared(ModelRun& run, const LocalizeCommand& command, const Output& output) {
  const auto platform = [&](const std::string& text) {
    return PlatformChoice::of(text, command.libraries, command.remote);
  };
  run.model = {command.model, command.patterns, command.format, command.inputs, nullptr};
  run.source = platform(command.from);
  run.target = platform(command.to);
  run.prompt = command.prompt;
  run.texts = command.texts;
  run.max_tokens = command.max_tokens;
  run.cache = command.cache;
  run.libraries = command.libraries;
  run.isolation = command.isolation;
  run.faults = command.faults;
  run.facts = !command.report.empty() || output.json;
}

CommandHooks hooks_of(const LocalizeCommand& command, Progress& progress) {
  CommandHooks hooks = command_hooks(progress);
  hooks.progress = kernel_progress(progress);
  hooks.checked = [&command, &progress] {
    command.ci.check();
    check_report_folder(command.report);
    progress.begin("load", 0, Progress::kPatience);
  };
  return hooks;
}

void write_report(const LocalizeCommand& command, const Localized& localized, const Json& json,
                  const Output& output) {
  for (const topdown::Culprit& culprit : localized.localization.culprits) {
    const std::string folder = command.report + "/" + culprit.kernel;
    unwrap(topdown::write_reproducer(culprit, command.to, localized.options, folder));
    const std::string line = topdown::reproducer_command(culprit, command.to, localized.options);
    output.line(folder + (line.empty() ? "" : ": " + line));
  }
  const std::string page = command.report + "/report.html";
  unwrap(write_text_atomic(
      page, topdown::localization_html(localized.localization, command.model, localized.shown,
                                       localized.command, localized.options, localized.run)));
  unwrap(write_text_atomic(command.report + "/report.json", json.dump(1) + "\n"));
  output.line("report: " + page);
}

void write_report(const LocalizeCommand& command, const PassesBisected& bisected, const Json& json,
                  const Output& output) {
  const topdown::PassBisection& bisection = bisected.bisection;
  const std::string page = command.report + "/report.html";
  unwrap(
      write_text_atomic(page, topdown::pass_bisection_html(bisection, command.model, bisected.shown,
                                                           bisected.command, bisected.run)));
  unwrap(write_text_atomic(command.report + "/report.json", json.dump(1) + "\n"));
  if (bisection.pass) {
    unwrap(write_text_atomic(command.report + "/before.txt", bisection.pass->before));
    unwrap(write_text_atomic(command.report + "/after.txt", bisection.pass->after));
    output.line("the program before and after: " + command.report + "/before.txt, after.txt");
  }
  output.line("report: " + page);
}

// --bisect passes.
int run_passes(const LocalizeCommand& command, const Output& output) {
  ModelRun run;
  set_shared(run, command, output);
  if (!command.suite.empty()) {
    throw_user("passes are bisected by running the model, not by tests", "--suite",
               "none with --bisect passes", command.suite);
  }
  if (!command.custom_kernels.empty()) {
    throw_user("passes are bisected with the compiler's kernels", "--custom-kernels",
               "none with --bisect passes", command.custom_kernels);
  }
  for (const CLI::Option* option : command.of_kernels) {
    if (option->count() == 0) continue;
    throw_user("passes are compared by the model's logits, not by tests of kernels",
               option->get_name(), "none with --bisect passes", option->results().at(0));
  }
  Progress progress = Progress::to_stderr(output.json);
  run.import = command.trust.check(command.model, run.first(), progress, output);
  if (run.import && !run.import->passed()) {
    return refuse_import(*run.import, refused_of(command, run), command.ci, output);
  }
  CommandHooks hooks = hooks_of(command, progress);
  hooks.worked = [&] { progress.end(); };
  const PassesBisected bisected = app::bisect_passes(run, hooks);
  const topdown::PassBisection& bisection = bisected.bisection;
  output.line(topdown::pass_bisection_text(bisection, terminal_has_colors(1)));
  Json json = topdown::pass_bisection_json(bisection);
  if (run.facts) json.set("run", topdown::run_json(bisected.run, bisected.command));
  if (!command.report.empty()) write_report(command, bisected, json, output);
  command.ci.write(topdown::ci_report(
      "tapml localize --bisect passes " + command.model + ": " + command.from + " to " + command.to,
      bisection));
  output.document(json);
  output.last_line(topdown::verdict_line(bisection).text());
  return bisection.found() ? kDifference : kDone;
}

int run(const LocalizeCommand& command, const Output& output) {
  if (command.bisect == "passes") return run_passes(command, output);
  app::LocalizeCommand options;
  set_shared(options, command, output);
  options.suite_folder = command.suite;
  options.sampler = command.sampler;
  options.repeats = command.repeats;
  options.shrink_time =
      std::chrono::milliseconds(static_cast<int64_t>(command.shrink_seconds * 1e3));
  options.kernels = command.custom_kernels;
  options.tolerance.name = command.tolerance.file;
  Progress progress = Progress::to_stderr(output.json);
  options.import = command.trust.check(command.model, options.first(), progress, output);
  if (options.import && !options.import->passed()) {
    return refuse_import(*options.import, refused_of(command, options), command.ci, output);
  }
  CommandHooks hooks = hooks_of(command, progress);
  hooks.worked = [&] { progress.finish(); };
  const Localized localized = app::localize(options, hooks);
  const topdown::Localization& localization = localized.localization;
  for (const topdown::KernelVerdict& verdict : localization.verdicts) {
    for (const std::string& text :
         {topdown::tolerance_text(verdict), topdown::allowed_text(verdict),
          topdown::source_text(verdict)}) {
      if (!text.empty()) output.line(verdict.kernel + ": " + text);
    }
  }
  log_each(localized.warnings);

  const bool colors = terminal_has_colors(1);
  for (const topdown::Culprit& culprit : localization.culprits) {
    output.line(topdown::culprit_text(culprit, colors));
  }
  output.line(topdown::localization_text(localization));
  Json json = topdown::localization_json(localization);
  if (options.facts) json.set("run", topdown::run_json(localized.run, localized.command));
  if (!command.report.empty()) write_report(command, localized, json, output);
  command.ci.write(topdown::ci_report(title_of(command), localization));
  output.document(json);
  output.last_line(topdown::verdict_line(localization).text());
  return localization.verdict() == topdown::Verdict::kPass ? kDone : kDifference;
}

}  // namespace

void add_localize(Registration registration) {
  auto* app = registration.app.add_subcommand(
      "localize", "Name the kernels that make a model wrong on a platform");
  app->footer(
      "Example: tapml localize models/demo --from cpu --to opencl --prompt \"And God said\"");
  auto command = std::make_shared<LocalizeCommand>();
  app->add_option("model", command->model,
                  "Hugging Face model directory, GGUF file, executable or package")
      ->required();
  app->add_option("--from", command->from, "Trusted platform")->capture_default_str();
  app->add_option("--to", command->to, "Platform on which the model is wrong")
      ->capture_default_str();
  app->add_option("--prompt", command->prompt, "Text for which the model is wrong");
  add_options(*app, command->texts);
  app->add_option("--suite", command->suite,
                  "Carved tests of this model to use, instead of carving the prompt's run");
  app->add_option("--custom-kernels,--kernels", command->custom_kernels,
                  "Folder of sources that replace the target's kernels (docs/custom-kernels.md)");
  app->add_option("--bisect", command->bisect,
                  "What to search for the fault: kernels, or passes of the compiler")
      ->check(CLI::IsMember({"kernels", "passes"}))
      ->capture_default_str();
  app->add_option("--max-tokens", command->max_tokens, "Decode steps of the run")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  add_options(*app, command->sampler);
  CLI::Option* repeats = app->add_option("--repeats", command->repeats,
                                         "Runs of each culprit, to measure how often it is wrong");
  repeats->check(CLI::Range(1, 1000))->capture_default_str();
  CLI::Option* shrink =
      app->add_option("--shrink-seconds", command->shrink_seconds,
                      "Time to search the smallest failing input of each culprit (0: no search)");
  shrink->check(CLI::Range(0.0, 1e6))->capture_default_str();
  app->add_option("--report", command->report,
                  "Folder for report.html, report.json and a reproducer of each culprit");
  add_options(*app, command->cache);
  add_options(*app, command->patterns);
  add_options(*app, command->format);
  add_pooling_options(*app, command->format);
  add_options(*app, command->inputs);
  add_options(*app, command->libraries);
  add_options(*app, command->remote);
  command->ci.add_to(*app);
  command->tolerance.add_to(*app);
  command->trust.add_to(*app);
  command->of_kernels = {repeats,
                         shrink,
                         app->get_option("--tolerance"),
                         app->get_option("--temperature"),
                         app->get_option("--top-k"),
                         app->get_option("--top-p"),
                         app->get_option("--seed")};
  add_options(*app, command->isolation);
  app->add_option(
      "--inject-fault", command->faults,
      "Fault to inject into the target (repeatable), or PASS:wrong-operator for --bisect passes");
  set_runner(*app, registration, command, run);
}

}  // namespace tapml::cli
