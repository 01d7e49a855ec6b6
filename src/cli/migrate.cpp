// tapml migrate: the main job, Algorithm 1 of the TapML paper.
#include "topdown/migrate/migrate.h"

#include <CLI/CLI.hpp>

#include "app/isolation.h"
#include "app/libraries.h"
#include "app/model.h"
#include "app/platforms.h"
#include "base/host/interrupt.h"
#include "base/host/progress.h"
#include "base/host/terminal.h"
#include "cli/ci_reports.h"
#include "cli/command.h"
#include "cli/kernel_progress.h"
#include "cli/options.h"
#include "cli/page_options.h"
#include "cli/tolerance_options.h"
#include "cli/trace.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "topdown/kernels/user_kernels.h"
#include "topdown/report/report.h"
#include "topdown/report/report_parts.h"
#include "topdown/report/speed_table.h"

namespace tapml::cli {

namespace {

struct MigrateCommand {
  std::string model, from = "cpu", to = "opencl", prompt, report, plant, kernels;
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

// Of the commands that the page shows.
topdown::CommandOptions options_of(const MigrateCommand& command) {
  topdown::CommandOptions options = page_options(command);
  if (!command.plant.empty()) options.plants = {command.plant};
  return options;
}

void print_culprits(const topdown::Migration& migration, const Output& output) {
  bool colors = terminal_has_colors(1);
  for (const topdown::MigrationStep* step : migration.culprits()) {
    output.line(styled("culprit: kernel " + step->verdict.kernel, Style::kRed, colors) + " (" +
                topdown::outcome_of(*step) + ")");
    output.line("  layers behind it: " + origin_summary(step->verdict.origin));
    for (const std::string& text :
         {step->verdict.failure, step->verdict.note, step->hybrid.failure}) {
      if (!text.empty()) output.line("  " + topdown::indented(text));
    }
  }
}

int run(const MigrateCommand& command, const Output& output) {
  target::Target from = target::parse_target(command.from);
  target::Target to = target::parse_target(command.to);
  unwrap(llm::check_sampler_options(command.sampler));
  if (!command.plant.empty()) topdown::parse_plant(command.plant);
  topdown::MigrateOptions options;
  if (!command.kernels.empty()) {
    options.user_sources = topdown::read_user_sources(command.kernels, to);
  }
  const topdown::PlanOptions plan = topdown::parse_plan(command.order, command.granularity);
  command.ci.check();
  const topdown::Tolerances tolerances = command.tolerance.load();
  const device::HostLibraries libraries = command.libraries.load();
  auto source_session = open_session(from, command.cache, libraries, command.remote);
  CompileCache cache(command.cache);
  // A trace wants one session from the first run to the last.
  IsolationOptions isolation = command.isolation;
  isolation.in_process |= !command.trace.file.empty();
  PlatformUnderTest target = open_under_test(to, command.libraries, command.remote, isolation);
  LoadedModel model = load_model(command.model, "", command.patterns, command.quantize);
  std::vector<int32_t> prompt = encode_prompt(model, command.prompt);
  if (!command.report.empty()) unwrap(make_folder(command.report));
  if (!command.state.empty()) unwrap(make_folder(command.state));
  Trace trace(command.trace);
  trace.begin(*source_session, "from " + command.from);
  if (target.session) trace.begin(*target.session, "to " + command.to);

  Progress progress = Progress::to_stderr(output.json);
  options.max_tokens = command.max_tokens;
  options.validation_tokens = command.validation_tokens;
  options.sampler = command.sampler;
  options.plan = plan;
  options.tolerances = tolerances;
  options.measure_speed = !command.report.empty();
  options.stop_at_first = command.stop_at_first;
  options.state = command.state;
  options.eos = model.files.eos;
  options.plant = command.plant;
  options.libraries = library_options(libraries, command.patterns);
  options.cache = cache.kernels();
  options.cancelled = interrupted;
  options.interrupt = &interrupt_flag();
  options.progress = kernel_progress(progress, "migrate");
  options.watch = kernel_rows(progress);
  topdown::Migration migration =
      topdown::migrate(model.files.module, model.files.weights, prompt,
                       {from, source_session.get()}, target.platform, options);
  progress.finish();
  trace.write();
  std::set<std::string> kernels(migration.untried.begin(), migration.untried.end());
  for (const topdown::MigrationStep& step : migration.steps) kernels.insert(step.verdict.kernel);
  warn_unused(command.tolerance, tolerances, kernels);

  topdown::ReportTexts texts;
  texts.model = command.model;
  texts.prompt = command.prompt;
  texts.source_text = model.tokenizer.decode(migration.source_tokens);
  texts.target_text = model.tokenizer.decode(migration.target_tokens);
  texts.failures = !command.report.empty();
  texts.options = options_of(command);
  texts.command = topdown::model_command("migrate", command.model, command.from, command.to,
                                         command.prompt, texts.options) +
                  " --validation-tokens " + std::to_string(command.validation_tokens);
  texts.options.max_tokens = command.validation_tokens;
  bool colors = terminal_has_colors(1);
  output.line(styled(command.from + ": ", Style::kBold, colors) + command.prompt +
              texts.source_text);
  output.line("");
  if (migration.source_nan) {
    output.line(topdown::source_nan_text(*migration.source_nan));
  } else {
    output.line(topdown::verdict_header());
  }
  for (const topdown::MigrationStep& step : migration.steps) {
    output.line(topdown::verdict_row(step.verdict, topdown::outcome_of(step), colors));
    for (const std::string& text :
         {topdown::tolerance_text(step.verdict), topdown::source_text(step.verdict)}) {
      if (!text.empty()) output.line("  " + text);
    }
  }
  if (!migration.source_nan) output.line("");
  if (migration.target_ran) {
    output.line(styled(command.to + ": ", Style::kBold, colors) + command.prompt +
                texts.target_text);
    if (!migration.whole.failure.empty()) {
      output.line("the target's own run failed: " + topdown::indented(migration.whole.failure));
    } else if (migration.first_divergence < 0) {
      output.line("identical token for token (" + std::to_string(migration.target_tokens.size()) +
                  " tokens)");
    } else {
      output.line("first different token: " + std::to_string(migration.first_divergence) +
                  topdown::divergence_note(migration));
    }
  }
  if (migration.target_ran && migration.whole.failure.empty()) {
    output.line(topdown::whole_model_text(migration.whole));
  }
  if (migration.resumed > 0) {
    output.line(std::to_string(migration.resumed) + " of " +
                std::to_string(migration.steps.size()) + " kernels were done before (" +
                command.state + ")");
  }
  if (!migration.untried.empty()) {
    output.line("stopped: " + std::to_string(migration.untried.size()) + " kernels were not tried");
  }
  if (!migration.source_nan) output.line(topdown::copies_text(migration));
  const std::string user = topdown::user_kernels_text(topdown::verdicts_of(migration));
  if (!user.empty()) output.line(user);
  print_culprits(migration, output);
  const std::string slow = topdown::slow_text(migration.speed, command.to);
  if (!slow.empty()) output.line(slow);
  Json json = topdown::migration_json(migration);
  json.set("source_text", Json::string(texts.source_text));
  json.set("target_text", Json::string(texts.target_text));
  if (!command.report.empty()) {
    unwrap(topdown::write_failures(migration, command.report));
    std::string page = command.report + "/report.html";
    unwrap(write_text_atomic(page, topdown::migration_html(migration, texts)));
    unwrap(write_text_atomic(command.report + "/report.json", json.dump(1) + "\n"));
    output.line("report: " + page);
  }
  command.ci.write(topdown::ci_report(
      "tapml migrate " + command.model + ": " + command.from + " to " + command.to, migration));
  output.document(json);
  return migration.passed() ? kDone : kDifference;
}

}  // namespace

void add_migrate(Registration registration) {
  auto* app = registration.app.add_subcommand(
      "migrate", "Move a model to a platform kernel by kernel, each step validated");
  app->footer(
      "Example: tapml migrate models/demo --from cpu --to opencl --prompt \"And God said\"");
  auto command = std::make_shared<MigrateCommand>();
  app->add_option("model", command->model, "Hugging Face model directory, or an executable")
      ->required();
  app->add_option("--from", command->from, "The trusted platform")->capture_default_str();
  app->add_option("--to", command->to, "The new platform")->capture_default_str();
  app->add_option("--prompt", command->prompt, "Text to run")->required();
  app->add_option("--max-tokens", command->max_tokens, "Tokens of the continuations")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  add_options(*app, command->sampler);
  app->add_option("--kernels", command->kernels,
                  "Folder of hand-written sources that take the place of kernels on the target");
  app->add_option("--report", command->report,
                  "Folder for report.html, report.json and the failing calls");
  app->add_option("--validation-tokens", command->validation_tokens,
                  "Decode steps that are carved, and compared in every hybrid run")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  app->add_option("--order", command->order, "Which kernels are tried first")
      ->check(CLI::IsMember({"execution", "cost", "risk"}))
      ->capture_default_str();
  app->add_option("--granularity", command->granularity,
                  "What moves together: kernel, layer, NAME=GLOB,GLOB,... of kernel names; several")
      ->capture_default_str();
  auto* keep_going = app->add_flag("--keep-going", command->keep_going,
                                   "Goes on behind a kernel that stays on the source (default)");
  app->add_flag("--stop-at-first", command->stop_at_first,
                "Ends at the first kernel that stays on the source")
      ->excludes(keep_going);
  app->add_option("--state", command->state,
                  "Folder that keeps what is done: the same command goes on there");
  add_options(*app, command->cache);
  add_options(*app, command->patterns);
  add_quantize_option(*app, command->quantize);
  add_options(*app, command->libraries);
  add_options(*app, command->remote);
  add_options(*app, command->trace);
  command->ci.add_to(*app);
  command->tolerance.add_to(*app);
  add_options(*app, command->isolation);
  app->add_option("--plant", command->plant, "KERNEL:KIND, plants a bug into the target");
  app->add_flag("--json", registration.output.json, "One JSON document on stdout");
  app->callback([command, registration] {
    registration.selected = [command, registration] { return run(*command, registration.output); };
  });
}

}  // namespace tapml::cli
