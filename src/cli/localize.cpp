// tapml localize: which kernels make a model wrong on a platform.
#include "topdown/localize/localize.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "abi/platforms.h"
#include "app/isolation.h"
#include "app/platforms.h"
#include "app/same_platform.h"
#include "base/host/interrupt.h"
#include "base/host/progress.h"
#include "base/host/terminal.h"
#include "cli/check_output.h"
#include "cli/ci_reports.h"
#include "cli/command.h"
#include "cli/kernel_progress.h"
#include "cli/options.h"
#include "cli/page_options.h"
#include "cli/tolerance_options.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "topdown/faults/plant_pass.h"
#include "topdown/kernels/user_kernels.h"
#include "topdown/localize/bisect_passes.h"
#include "topdown/report/localize_report.h"
#include "topdown/report/pass_report.h"
#include "topdown/report/report.h"
#include "topdown/report/report_parts.h"
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
  std::string quantize;
  LibraryFiles libraries;
  RemoteOptions remote;
  IsolationOptions isolation;
  ToleranceOptions tolerance;
  CiReportOptions ci;
  std::vector<const CLI::Option*> of_kernels;  // options without a meaning for --bisect passes
};

// Of the commands that the page shows.
topdown::CommandOptions options_of(const LocalizeCommand& command) {
  topdown::CommandOptions options = page_options(command);
  options.plants = command.faults;
  return options;
}

std::string command_line(const LocalizeCommand& command) {
  return topdown::model_command("localize", command.model, command.from, command.to, command.prompt,
                                options_of(command)) +
         (command.suite.empty() ? "" : " --suite " + topdown::quoted_word(command.suite)) +
         (command.bisect == "passes" ? " --bisect passes" : "");
}

void write_report(const LocalizeCommand& command, const topdown::Localization& localization,
                  const topdown::RunFacts& facts, const Json& json, const Output& output) {
  const topdown::CommandOptions again = options_of(command);
  for (const topdown::Culprit& culprit : localization.culprits) {
    const std::string folder = command.report + "/" + culprit.kernel;
    unwrap(topdown::write_reproducer(culprit, command.to, again, folder));
    const std::string line = topdown::reproducer_command(culprit, command.to, again);
    output.line(folder + (line.empty() ? "" : ": " + line));
  }
  const std::string page = command.report + "/report.html";
  unwrap(write_text_atomic(page,
                           topdown::localization_html(localization, command.model, command.prompt,
                                                      command_line(command), again, facts)));
  unwrap(write_text_atomic(command.report + "/report.json", json.dump(1) + "\n"));
  output.line("report: " + page);
}

// --bisect passes.
int run_passes(const LocalizeCommand& command, const Output& output) {
  target::Target from = target::parse_target(command.from);
  target::Target to = target::parse_target(command.to);
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
  command.ci.check();
  check_report_folder(command.report);
  topdown::BisectPassesOptions options;
  for (const std::string& fault : command.faults) {
    const auto pass = topdown::parse_plant_of_pass(fault);
    if (!pass || options.rewrite_pass) {
      throw_user("this fault cannot be injected with --bisect passes", "--inject-fault " + fault,
                 "one PASS:wrong-operator", fault);
    }
    options.rewrite_pass = topdown::wrong_operator_after(*pass);
  }
  const device::HostLibraries libraries = command.libraries.load();
  Progress progress = Progress::to_stderr(output.json);
  progress.begin("load", 0, Progress::kPatience);
  RemoteOptions remote = command.remote;
  remote.watcher = progress.watcher();
  auto source_session = open_session(from, {}, libraries, remote);
  const PlatformUnderTest target =
      open_under_test(to, command.libraries, remote, command.isolation);
  if (command.faults.empty()) {
    warn_of_same_platform("localize", from, source_session->info(), to, target.info);
  }
  LoadedModel model =
      load_model(command.model, "", command.patterns, command.quantize, progress.watcher());
  options.validation_tokens = command.max_tokens;
  options.eos = model.files.eos;
  options.libraries = library_options(libraries, command.patterns);
  CompileCache cache(command.cache);
  options.cache = cache.kernels();
  options.cancelled = interrupted;
  options.interrupt = &interrupt_flag();
  options.progress = kernel_progress(progress);
  options.watcher = progress.watcher();
  const topdown::PassBisection bisection = topdown::bisect_passes(
      model.files.module, model.files.weights, encode_prompt(model, command.prompt),
      {from, source_session.get(), {}, target.platform.kernel_timeout}, target.platform, options);
  progress.end();
  output.line(topdown::pass_bisection_text(bisection, terminal_has_colors(1)));
  Json json = topdown::pass_bisection_json(bisection);
  topdown::RunFacts facts;
  if (!command.report.empty() || output.json) {
    facts = topdown::run_facts(command.model, model.files.weights);
    json.set("run", topdown::run_json(facts, command_line(command)));
  }
  if (!command.report.empty()) {
    const std::string page = command.report + "/report.html";
    unwrap(write_text_atomic(page,
                             topdown::pass_bisection_html(bisection, command.model, command.prompt,
                                                          command_line(command), facts)));
    unwrap(write_text_atomic(command.report + "/report.json", json.dump(1) + "\n"));
    if (bisection.pass) {
      unwrap(write_text_atomic(command.report + "/before.txt", bisection.pass->before));
      unwrap(write_text_atomic(command.report + "/after.txt", bisection.pass->after));
      output.line("the program before and after: " + command.report + "/before.txt, after.txt");
    }
    output.line("report: " + page);
  }
  command.ci.write(topdown::ci_report(
      "tapml localize --bisect passes " + command.model + ": " + command.from + " to " + command.to,
      bisection));
  output.document(json);
  output.last_line(topdown::verdict_line(bisection).text());
  return bisection.found() ? kDifference : kDone;
}

int run(const LocalizeCommand& command, const Output& output) {
  if (command.bisect == "passes") return run_passes(command, output);
  target::Target from = target::parse_target(command.from);
  target::Target to = target::parse_target(command.to);
  unwrap(llm::check_sampler_options(command.sampler));
  for (const std::string& fault : command.faults) topdown::parse_plant(fault);
  topdown::LocalizeOptions options;
  if (!command.custom_kernels.empty()) {
    options.user_sources = topdown::read_user_sources(command.custom_kernels, to);
  }
  command.ci.check();
  check_report_folder(command.report);
  const topdown::Tolerances tolerances = command.tolerance.load();
  const device::HostLibraries libraries = command.libraries.load();
  Progress progress = Progress::to_stderr(output.json);
  progress.begin("load", 0, Progress::kPatience);
  RemoteOptions remote = command.remote;
  remote.watcher = progress.watcher();
  auto source_session = open_session(from, command.cache, libraries, remote);
  CompileCache cache(command.cache);
  PlatformUnderTest target = open_under_test(to, command.libraries, remote, command.isolation);
  if (command.faults.empty() && options.user_sources.empty()) {
    warn_of_same_platform("localize", from, source_session->info(), to, target.info);
  }
  LoadedModel model =
      load_model(command.model, "", command.patterns, command.quantize, progress.watcher());
  std::vector<int32_t> prompt = encode_prompt(model, command.prompt);

  topdown::Platform source{from, source_session.get(), {}, target.platform.kernel_timeout};
  if (!command.isolation.in_process) {
    source.elsewhere = !from.place.empty();
    source.open = worker_opener(from, command.libraries, command.remote, command.isolation);
  }
  if (!command.suite.empty()) {
    const bool folder = std::filesystem::is_directory(command.model);
    options.suite =
        unwrap(topdown::load_suite(command.suite, folder ? command.model : "", progress.watcher()));
  }
  options.validation_tokens = command.max_tokens;
  options.eos = model.files.eos;
  options.sampler = command.sampler;
  options.repeats = command.repeats;
  options.shrink_time =
      std::chrono::milliseconds(static_cast<int64_t>(command.shrink_seconds * 1e3));
  options.plants = command.faults;
  options.tolerances = tolerances;
  options.libraries = library_options(libraries, command.patterns);
  options.cache = cache.kernels();
  options.cancelled = interrupted;
  options.interrupt = &interrupt_flag();
  options.progress = kernel_progress(progress);
  options.watcher = progress.watcher();
  options.watch = kernel_rows(progress);
  const topdown::Localization localization = topdown::localize(
      model.files.module, model.files.weights, prompt, source, target.platform, options);
  progress.finish();
  std::set<std::string> kernels;
  for (const topdown::KernelVerdict& verdict : localization.verdicts) {
    kernels.insert(verdict.kernel);
    for (const std::string& text :
         {topdown::tolerance_text(verdict), topdown::source_text(verdict)}) {
      if (!text.empty()) output.line(verdict.kernel + ": " + text);
    }
  }
  warn_unused(command.tolerance, tolerances, kernels);

  const bool colors = terminal_has_colors(1);
  for (const topdown::Culprit& culprit : localization.culprits) {
    output.line(topdown::culprit_text(culprit, colors));
  }
  output.line(topdown::localization_text(localization));
  Json json = topdown::localization_json(localization);
  topdown::RunFacts facts;
  if (!command.report.empty() || output.json) {
    facts = topdown::run_facts(command.model, model.files.weights);
    json.set("run", topdown::run_json(facts, command_line(command)));
  }
  if (!command.report.empty()) write_report(command, localization, facts, json, output);
  command.ci.write(topdown::ci_report(
      "tapml localize " + command.model + ": " + command.from + " to " + command.to, localization));
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
  app->add_option("model", command->model, "Hugging Face model directory, executable or package")
      ->required();
  app->add_option("--from", command->from, "Trusted platform")->capture_default_str();
  app->add_option("--to", command->to, "Platform on which the model is wrong")
      ->capture_default_str();
  app->add_option("--prompt", command->prompt, "Text for which the model is wrong")->required();
  app->add_option("--suite", command->suite,
                  "Carved tests of this model to use, instead of carving the prompt's run");
  app->add_option("--custom-kernels,--kernels", command->custom_kernels,
                  "Folder of sources that replace the target's kernels (docs/user-kernels.md)");
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
  add_quantize_option(*app, command->quantize);
  add_options(*app, command->libraries);
  add_options(*app, command->remote);
  command->ci.add_to(*app);
  command->tolerance.add_to(*app);
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
  app->add_flag("--json", registration.output.json, "Print one JSON document on standard output");
  app->callback([command, registration] {
    registration.selected = [command, registration] { return run(*command, registration.output); };
  });
}

}  // namespace tapml::cli
