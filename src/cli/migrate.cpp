// tapml migrate: the main job, Algorithm 1 of the TapML paper.
#include "topdown/migrate/migrate.h"

#include <CLI/CLI.hpp>

#include "abi/platforms.h"
#include "app/isolation.h"
#include "app/libraries.h"
#include "app/model.h"
#include "app/platforms.h"
#include "app/same_platform.h"
#include "base/host/interrupt.h"
#include "base/host/progress.h"
#include "cli/check_output.h"
#include "cli/ci_reports.h"
#include "cli/command.h"
#include "cli/kernel_progress.h"
#include "cli/migration_output.h"
#include "cli/options.h"
#include "cli/page_options.h"
#include "cli/tolerance_options.h"
#include "cli/trace.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "topdown/kernels/user_kernels.h"
#include "topdown/migrate/several_targets.h"
#include "topdown/report/report_files.h"
#include "topdown/report/verdict_lines.h"
#include "topdown/results/result_json.h"

namespace tapml::cli {

namespace {

struct MigrateCommand {
  std::string model, from = kDefaultPlatform, prompt, report, inject_fault, custom_kernels;
  std::vector<std::string> to = {kDefaultNewPlatform};
  int64_t max_tokens = 64, validation_tokens = 4;
  llm::SamplerOptions sampler;
  std::string order = "execution", state;
  std::vector<std::string> granularity = {"kernel"};
  bool keep_going = false, stop_at_first = false;
  CacheOptions cache;
  PatternOptions patterns;
  std::string quantize;
  LibraryFiles libraries;
  RemoteOptions remote;
  TraceOptions trace;
  IsolationOptions isolation;
  ToleranceOptions tolerance;
  CiReportOptions ci;
};

// The targets, and the sessions that they need.
class Targets {
 public:
  // What the options say of each; UserError.
  explicit Targets(const MigrateCommand& command)
      : command_(command), folders_(topdown::target_folders(command.to)) {
    for (const std::string& text : command.to) {
      topdown::MigrationTarget& target = targets_.emplace_back();
      target.platform.target = target::parse_target(text);
      target.plant = topdown::plant_of(command.inject_fault, text, command.to);
      if (!command.custom_kernels.empty()) {
        target.user_sources =
            topdown::read_user_sources(command.custom_kernels, target.platform.target);
      }
    }
    for (size_t t = 0; t < targets_.size() && !command.state.empty(); ++t) {
      targets_[t].state = several() ? command.state + "/" + folders_[t] : command.state;
    }
  }

  bool several() const { return targets_.size() > 1; }
  const std::vector<std::string>& folders() const { return folders_; }
  const std::vector<topdown::MigrationTarget>& all() const { return targets_; }

  // Of several, those that cannot be opened are left out. Throws where none can.
  void open(const RemoteOptions& remote, const IsolationOptions& isolation) {
    const Error* first = nullptr;
    size_t absent = 0;
    for (topdown::MigrationTarget& target : targets_) {
      target::Target platform = target.platform.target;
      auto opened =
          guard([&] { return open_under_test(platform, command_.libraries, remote, isolation); });
      if (opened) {
        target.platform = opened->platform;
        infos_[&target] = opened->info;
        sessions_.push_back(std::move(opened->session));
        continue;
      }
      if (!several() || opened.error().kind == ErrorKind::kUser) throw_error(opened.error());
      target.absent = opened.error();
      if (!first) first = &*target.absent;
      ++absent;
    }
    if (absent == targets_.size()) throw_error(*first);
  }
  // Of those that are the source again. An injected fault or custom kernels make another target.
  void warn_of_source(const target::Target& from, const DeviceInfo& info) const {
    for (const auto& [target, own] : infos_) {
      if (!target->plant.empty() || !target->user_sources.empty()) continue;
      warn_of_same_platform("migrate", from, info, target->platform.target, own);
    }
  }
  void begin(Trace& trace) const {
    for (const topdown::MigrationTarget& target : targets_) {
      if (runtime::Session* session = target.platform.session) {
        trace.begin(*session, "to " + target.platform.target.text);
      }
    }
  }

 private:
  const MigrateCommand& command_;
  std::vector<std::string> folders_;
  std::vector<topdown::MigrationTarget> targets_;
  std::vector<std::unique_ptr<runtime::Session>> sessions_;      // of this process
  std::map<const topdown::MigrationTarget*, DeviceInfo> infos_;  // of those that are open
};

std::string command_line(const MigrateCommand& command, const std::vector<std::string>& to,
                         const topdown::CommandOptions& options) {
  return topdown::model_command("migrate", command.model, command.from, to, command.prompt,
                                options) +
         " --validation-tokens " + std::to_string(command.validation_tokens);
}

// Of the commands that the page shows. `fault`: into the target in question.
topdown::CommandOptions options_of(const MigrateCommand& command, const std::string& fault) {
  topdown::CommandOptions options = page_options(command);
  if (!fault.empty()) options.plants = {fault};
  return options;
}

topdown::ReportTexts texts_of(const MigrateCommand& command, const LoadedModel& model,
                              const topdown::MigrationTarget& target,
                              const topdown::Migration& migration) {
  topdown::ReportTexts texts;
  texts.model = command.model;
  texts.prompt = command.prompt;
  texts.source_text = model.tokenizer.decode(migration.source_tokens);
  texts.target_text = model.tokenizer.decode(migration.target_tokens);
  texts.failures = !command.report.empty();
  texts.options = options_of(command, target.plant);
  texts.command = command_line(command, {target.platform.target.text}, texts.options);
  texts.options.max_tokens = command.validation_tokens;
  return texts;
}

void warn_unused_tolerances(const MigrateCommand& command, const topdown::Tolerances& tolerances,
                            const topdown::Migrations& migrations) {
  std::set<std::string> kernels;
  for (const topdown::Migration& migration : migrations.targets) {
    kernels.insert(migration.untried.begin(), migration.untried.end());
    for (const topdown::MigrationStep& step : migration.steps) kernels.insert(step.verdict.kernel);
  }
  warn_unused(command.tolerance, tolerances, kernels);
}

int report_one(const MigrateCommand& command, const Output& output,
               const topdown::Migration& migration, const topdown::ReportTexts& texts) {
  print_source(output, command.from, texts);
  print_migration(output, migration, texts, command.state);
  const Json json = topdown::migration_json(migration, texts);
  if (!command.report.empty()) {
    unwrap(topdown::write_report(migration, texts, json, command.report));
    output.line("report: " + command.report + "/report.html");
  }
  command.ci.write(topdown::ci_report(
      "tapml migrate " + command.model + ": " + command.from + " to " + migration.target,
      migration));
  output.document(json);
  output.last_line(topdown::verdict_line(migration).text());
  return migration.passed() ? kDone : kDifference;
}

int report_several(const MigrateCommand& command, const Output& output,
                   const topdown::Migrations& migrations, const topdown::MigrationsTexts& texts) {
  print_source(output, command.from, texts.targets.at(0));
  print_migrations(output, migrations, texts, command.state);
  if (!command.report.empty()) {
    unwrap(topdown::write_report(migrations, texts, command.report));
    output.line("report: " + command.report + "/report.html");
  }
  command.ci.write(
      topdown::ci_reports("tapml migrate " + command.model + ": " + command.from, migrations));
  output.document(topdown::migrations_json(migrations, texts));
  output.last_line(topdown::verdict_line(migrations).text());
  if (const Error* error = migrations.error()) return exit_code(*error);
  return migrations.passed() ? kDone : kDifference;
}

int run(const MigrateCommand& command, const Output& output) {
  target::Target from = target::parse_target(command.from);
  unwrap(llm::check_sampler_options(command.sampler));
  Targets targets(command);
  topdown::MigrateOptions options;
  options.plan = topdown::parse_plan(command.order, command.granularity);
  command.ci.check();
  check_report_folder(command.report);
  if (!command.state.empty()) {
    unwrap(make_folder(command.state));
    unwrap(check_writable(command.state + "/state.json"));
  }
  options.tolerances = command.tolerance.load();
  const device::HostLibraries libraries = command.libraries.load();
  Progress progress = Progress::to_stderr(output.json);
  progress.begin("load", 0, Progress::kPatience);
  RemoteOptions remote = command.remote;
  remote.watcher = progress.watcher();
  auto source_session = open_session(from, command.cache, libraries, remote);
  CompileCache cache(command.cache);
  // A trace wants one session from the first run to the last.
  IsolationOptions isolation = command.isolation;
  isolation.in_process |= !command.trace.file.empty();
  targets.open(remote, isolation);
  targets.warn_of_source(from, source_session->info());
  LoadedModel model =
      load_model(command.model, "", command.patterns, command.quantize, progress.watcher());
  std::vector<int32_t> prompt = encode_prompt(model, command.prompt);
  Trace trace(command.trace);
  trace.begin(*source_session, "from " + command.from);
  targets.begin(trace);

  options.max_tokens = command.max_tokens;
  options.validation_tokens = command.validation_tokens;
  options.sampler = command.sampler;
  options.measure_speed = !command.report.empty();
  options.stop_at_first = command.stop_at_first;
  options.eos = model.files.eos;
  options.libraries = library_options(libraries, command.patterns);
  options.cache = cache.kernels();
  options.cancelled = interrupted;
  options.interrupt = &interrupt_flag();
  options.progress = kernel_progress(progress, "migrate");
  options.watcher = progress.watcher();
  options.watch = kernel_rows(progress);
  const topdown::Migrations migrations =
      topdown::migrate(model.files.module, model.files.weights, prompt,
                       {from, source_session.get()}, targets.all(), options);
  progress.finish();
  trace.write();
  warn_unused_tolerances(command, options.tolerances, migrations);

  topdown::MigrationsTexts texts;
  texts.folders = targets.folders();
  if (!command.report.empty() || output.json) {
    texts.run = topdown::run_facts(command.model, model.files.weights);
  }
  texts.command = command_line(command, command.to, options_of(command, command.inject_fault));
  for (size_t t = 0; t < migrations.targets.size(); ++t) {
    texts.targets.push_back(texts_of(command, model, targets.all()[t], migrations.targets[t]));
    texts.targets.back().run = texts.run;
    if (targets.several()) texts.targets.back().above = "../report.html";
  }
  return targets.several() ? report_several(command, output, migrations, texts)
                           : report_one(command, output, migrations.targets[0], texts.targets[0]);
}

}  // namespace

void add_migrate(Registration registration) {
  auto* app = registration.app.add_subcommand(
      "migrate", "Migrate a model to another platform, kernel by kernel");
  app->footer(
      "Example: tapml migrate models/demo --from cpu --to opencl --prompt \"And God said\"");
  auto command = std::make_shared<MigrateCommand>();
  app->add_option("model", command->model, "Hugging Face model directory, executable or package")
      ->required();
  app->add_option("--from", command->from, "Trusted platform")->capture_default_str();
  app->add_option("--to", command->to, "New platform (repeatable, for several at once)")
      ->allow_extra_args(false)
      ->default_str(kDefaultNewPlatform);
  app->add_option("--prompt", command->prompt, "Text to run")->required();
  app->add_option("--max-tokens", command->max_tokens, "Most tokens to generate on each platform")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  add_options(*app, command->sampler);
  app->add_option("--custom-kernels,--kernels", command->custom_kernels,
                  "Folder of sources that replace the target's kernels (docs/user-kernels.md)");
  app->add_option("--report", command->report,
                  "Folder for report.html, report.json and the failing calls");
  app->add_option("--validation-tokens", command->validation_tokens,
                  "Decode steps to carve, and to compare in each hybrid run")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  app->add_option("--order", command->order, "Order in which to try the kernels")
      ->check(CLI::IsMember({"execution", "cost", "risk"}))
      ->capture_default_str();
  app->add_option(
         "--granularity", command->granularity,
         "What moves together: kernel, layer, NAME=GLOB,GLOB,... (repeatable) or layer-by-layer")
      ->capture_default_str();
  auto* keep_going = app->add_flag("--keep-going", command->keep_going,
                                   "Continue after a kernel that stays on the source (default)");
  app->add_flag("--stop-at-first", command->stop_at_first,
                "Stop at the first kernel that stays on the source")
      ->excludes(keep_going);
  app->add_option("--state", command->state,
                  "Folder that keeps the progress, so that the same command continues from it");
  add_options(*app, command->cache);
  add_options(*app, command->patterns);
  add_quantize_option(*app, command->quantize);
  add_options(*app, command->libraries);
  add_options(*app, command->remote);
  add_options(*app, command->trace);
  command->ci.add_to(*app);
  command->tolerance.add_to(*app);
  add_options(*app, command->isolation);
  // A trace has one session, of this process.
  app->get_option("--trace")->excludes(app->get_option("--kernel-timeout"));
  app->add_option("--inject-fault", command->inject_fault,
                  "Fault to inject into the target, or TARGET/KERNEL:KIND for one of several");
  app->add_flag("--json", registration.output.json, "Print one JSON document on standard output");
  app->callback([command, registration] {
    registration.selected = [command, registration] { return run(*command, registration.output); };
  });
}

}  // namespace tapml::cli
