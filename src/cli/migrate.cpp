// tapml migrate: the main command, Algorithm 1 of the TapML paper.
#include "app/commands/migrate.h"

#include <CLI/CLI.hpp>

#include "abi/platforms.h"
#include "base/host/progress.h"
#include "cli/check_output.h"
#include "cli/ci_reports.h"
#include "cli/command.h"
#include "cli/import_trust.h"
#include "cli/kernel_progress.h"
#include "cli/migration_output.h"
#include "cli/options.h"
#include "cli/tolerance_options.h"
#include "cli/trace.h"
#include "ir/exceptions.h"
#include "topdown/report/report_files.h"
#include "topdown/report/verdict_lines.h"

namespace tapml::cli {

namespace {

struct MigrateCommand {
  std::string model, from = kDefaultPlatform, prompt, report, inject_fault, custom_kernels;
  std::vector<std::string> to = {kDefaultNewPlatform};
  int64_t max_tokens = 64, validation_tokens = 4;
  llm::SamplerOptions sampler;
  std::string order = "execution", state;
  std::vector<std::string> granularity = {"kernel"};
  int64_t hybrid_every = 1;
  bool keep_going = false, stop_at_first = false;
  CacheOptions cache;
  PatternOptions patterns;
  app::ModelFormat format;
  app::TextInputOptions inputs;
  app::EncoderTexts texts;
  LibraryFiles libraries;
  RemoteOptions remote;
  TraceOptions trace;
  IsolationOptions isolation;
  ToleranceOptions tolerance;
  CiReportOptions ci;
  ImportTrust trust;
};

app::MigrateCommand options_of(const MigrateCommand& command, const Output& output) {
  app::MigrateCommand options;
  options.model = {command.model, command.patterns, command.format, command.inputs, nullptr};
  const auto platform = [&](const std::string& text) {
    return PlatformChoice::of(text, command.libraries, command.remote);
  };
  options.source = platform(command.from);
  for (const std::string& to : command.to) options.targets.push_back(platform(to));
  options.prompt = command.prompt;
  options.texts = command.texts;
  options.max_tokens = command.max_tokens;
  options.validation_tokens = command.validation_tokens;
  options.sampler = command.sampler;
  options.order = command.order;
  options.granularity = command.granularity;
  options.hybrid_every = command.hybrid_every;
  options.stop_at_first = command.stop_at_first;
  options.state = command.state;
  options.kernels = command.custom_kernels;
  options.fault = command.inject_fault;
  options.tolerance.name = command.tolerance.file;
  options.cache = command.cache;
  options.libraries = command.libraries;
  options.isolation = command.isolation;
  // A trace needs one session from the first run to the last.
  options.one_session = !command.trace.file.empty();
  options.for_report = !command.report.empty();
  options.facts = !command.report.empty() || output.json;
  return options;
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
  app::MigrateCommand options = options_of(command, output);
  Progress progress = Progress::to_stderr(output.json);
  options.import = command.trust.check(command.model, options.first(), progress, output);
  if (options.import && !options.import->passed()) {
    return refuse_import(*options.import,
                         {.command = "migrate",
                          .title = "tapml migrate " + command.model + ": " + command.from,
                          .model = command.model,
                          .prompt = options.first(),
                          .python = command.trust.python,
                          .report = command.report},
                         command.ci, output);
  }
  Trace trace(command.trace);
  CommandHooks hooks = command_hooks(progress);
  hooks.progress = kernel_progress(progress, "migrate");
  hooks.checked = [&] {
    command.ci.check();
    check_report_folder(command.report);
    progress.begin("load", 0, Progress::kPatience);
  };
  hooks.opened = [&](runtime::Session& session, const std::string& role) {
    trace.begin(session, role);
  };
  hooks.worked = [&] {
    progress.finish();
    trace.write();
  };
  const Migrated migrated = app::migrate(options, hooks);
  log_each(migrated.warnings);
  const topdown::MigrationsTexts& texts = migrated.texts;
  return migrated.several()
             ? report_several(command, output, migrated.migrations, texts)
             : report_one(command, output, migrated.migrations.targets[0], texts.targets[0]);
}

}  // namespace

void add_migrate(Registration registration) {
  auto* app = registration.app.add_subcommand(
      "migrate", "Migrate a model to another platform, kernel by kernel");
  app->footer(
      "Example: tapml migrate models/demo --from cpu --to opencl --prompt \"And God said\"");
  auto command = std::make_shared<MigrateCommand>();
  app->add_option("model", command->model,
                  "Hugging Face model directory, GGUF file, executable or package")
      ->required();
  app->add_option("--from", command->from, "Trusted platform")->capture_default_str();
  app->add_option("--to", command->to, "New platform (repeatable, for several at once)")
      ->allow_extra_args(false)
      ->default_str(kDefaultNewPlatform);
  app->add_option("--prompt", command->prompt, "Text for a language model to continue");
  add_options(*app, command->texts);
  app->add_option("--max-tokens", command->max_tokens, "Most tokens to generate on each platform")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  add_options(*app, command->sampler);
  app->add_option("--custom-kernels,--kernels", command->custom_kernels,
                  "Folder of sources that replace the target's kernels (docs/custom-kernels.md)");
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
  app->add_option("--hybrid-every", command->hybrid_every,
                  "Kernels or groups to test before each hybrid run (0: all)")
      ->check(CLI::Range(0, 1000000))
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
  add_options(*app, command->format);
  add_pooling_options(*app, command->format);
  add_options(*app, command->inputs);
  add_options(*app, command->libraries);
  add_options(*app, command->remote);
  add_options(*app, command->trace);
  command->ci.add_to(*app);
  command->tolerance.add_to(*app);
  command->trust.add_to(*app);
  add_options(*app, command->isolation);
  // A trace has one session, in this process.
  app->get_option("--trace")->excludes(app->get_option("--kernel-timeout"));
  app->add_option("--inject-fault", command->inject_fault,
                  "Fault to inject into the target, or TARGET/KERNEL:KIND for one of several");
  set_runner(*app, registration, command, run);
}

}  // namespace tapml::cli
