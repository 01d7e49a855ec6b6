// tapml replay: runs a suite's tests on a target.
#include "app/commands/replay.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <limits>

#include "abi/platforms.h"
#include "base/host/progress.h"
#include "base/host/table.h"
#include "base/host/terminal.h"
#include "cli/check_output.h"
#include "cli/ci_reports.h"
#include "cli/command.h"
#include "cli/kernel_progress.h"
#include "cli/options.h"
#include "cli/suite_completeness.h"
#include "cli/tolerance_options.h"
#include "cli/watch.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "topdown/report/report.h"
#include "topdown/report/speed_table.h"
#include "topdown/report/verdict_lines.h"
#include "topdown/results/result_json.h"

namespace tapml::cli {

namespace {

struct ReplayOptions {
  std::string suite, model, target = kDefaultPlatform, kernel, inject_fault, custom_kernels, report;
  std::optional<int64_t> group;
  bool watch = false;
  CacheOptions cache;
  PatternOptions patterns;
  LibraryFiles libraries;
  RemoteOptions remote;
  IsolationOptions isolation;
  ToleranceOptions tolerance;
  CiReportOptions ci;
  topdown::ReplayOptions launches;
};

ReplayCommand command_of(const ReplayOptions& options) {
  ReplayCommand command;
  command.name = options.suite;
  command.model = options.model;
  command.target = PlatformChoice::of(options.target, options.libraries, options.remote);
  command.kernels = options.custom_kernels;
  command.fault = options.inject_fault;
  command.tolerance.name = options.tolerance.file;
  command.patterns = options.patterns;
  command.cache = options.cache;
  command.libraries = options.libraries;
  command.isolation = options.isolation;
  command.launches = options.launches;
  return command;
}

// Prints the rows of the table as verdicts arrive.
class VerdictRows {
 public:
  VerdictRows(Progress& progress, const Output& output) : progress_(progress), output_(output) {}

  void begin(const topdown::Suite& suite, const WantedTests& wanted) {
    std::vector<std::string> names;
    for (int32_t kernel : wanted.kernels) {
      names.push_back(suite.kernels[static_cast<size_t>(kernel)].name);
    }
    for (const topdown::KernelUse& use : wanted.untested) names.push_back(use.kernel);
    table_ = topdown::verdict_table(names, text_width(STDOUT_FILENO), terminal_has_colors(1));
    say(topdown::verdict_header(*table_));
  }
  void add(const topdown::KernelVerdict& verdict) {
    say(topdown::verdict_row(*table_, verdict, topdown::verdict_outcome(verdict)));
    const std::string group =
        verdict.group ? verdict.kernel + ": " + topdown::group_values_text(verdict) : "";
    for (const std::string& text :
         {group, verdict.failure, verdict.note, topdown::tolerance_text(verdict),
          topdown::allowed_text(verdict), topdown::open_text(verdict),
          topdown::source_text(verdict)}) {
      if (!text.empty()) say("  " + topdown::indented(text));
    }
  }
  // Prints the lines after the last verdict.
  void end(const topdown::Replayed& replayed) {
    for (const topdown::KernelUse& use : replayed.untested) {
      say(topdown::untested_row(*table_, use));
    }
    for (const std::string& text :
         {topdown::slow_text(replayed.speed, replayed.target),
          topdown::custom_kernels_text(topdown::verdicts_of(replayed)),
          topdown::target_allowances_text(replayed.target, replayed.allowances,
                                          topdown::verdicts_of(replayed))}) {
      if (!text.empty()) say(text);
    }
  }
  // Call it after the live line is removed.
  void flush() const {
    for (const std::string& line : later_) output_.line(line);
  }

 private:
  // On a terminal that shows the rows above the live line, these lines come after it.
  void say(const std::string& line) {
    if (progress_.live() && is_terminal(STDOUT_FILENO)) {
      later_.push_back(line);
    } else {
      output_.line(line);
    }
  }

  Progress& progress_;
  const Output& output_;
  std::optional<TableLayout> table_;
  std::vector<std::string> later_;
};

void write_report(const ReplayOptions& options, const topdown::Replayed& replayed,
                  const std::string& line, const topdown::CommandOptions& again, const Json& json,
                  const Output& output) {
  const std::string page = options.report + "/report.html";
  unwrap(write_text_atomic(page, topdown::replay_html(replayed, line, again)));
  unwrap(write_text_atomic(options.report + "/report.json", json.dump(1) + "\n"));
  output.line("report: " + page);
}

int run(const ReplayOptions& options, const Output& output) {
  const ReplayCommand command = command_of(options);
  Progress progress = Progress::to_stderr(output.json);
  VerdictRows rows(progress, output);
  CommandHooks hooks = command_hooks(progress);
  hooks.phase = [&](const std::string& name, int64_t total) {
    progress.begin(name, total, name.starts_with("read ") ? Progress::kPatience : 0);
  };
  hooks.checked = [&] {
    options.ci.check();
    check_report_folder(options.report);
  };
  hooks.watch = [&rows, live = kernel_rows(progress)](const topdown::KernelEvent& event) {
    live(event);
    if (event.stage == topdown::KernelStage::kDone) rows.add(*event.verdict);
  };
  SuiteReplay replay(command, hooks);
  const topdown::Suite& suite = replay.suite();
  if (!suite.incomplete.empty()) say_what_is_missing(suite, output);
  const WantedTests wanted = replay.wanted({options.kernel, options.group, options.watch});
  if (options.watch) {
    watch_kernel(suite, replay.reference(), *wanted.compiled.begin(), options.custom_kernels,
                 replay.sandbox(), output);
  }
  replay.compile(wanted.compiled);
  rows.begin(suite, wanted);
  topdown::Replayed replayed = replay.run(wanted, !options.report.empty());
  rows.end(replayed);
  const topdown::VerdictLine verdict = topdown::verdict_line(replayed);
  progress.finish(verdict.verdict == topdown::Verdict::kFail ? "differences found"
                                                             : "all within their bounds");
  rows.flush();
  log_each(replay.warnings());
  options.ci.write(
      topdown::ci_report("tapml replay " + options.suite + " on " + options.target, replayed));
  topdown::CommandOptions again = replay.options_again();
  again.group = options.group;
  const std::string line =
      topdown::replay_command(options.suite, options.target, options.kernel, again);
  Json json = topdown::replayed_json(replayed);
  if (!options.report.empty() || output.json) {
    replayed.run = topdown::run_facts(options.suite, suite);
    json.set("run", topdown::run_json(replayed.run, line));
  }
  if (!options.report.empty()) write_report(options, replayed, line, again, json, output);
  output.document(json);
  output.last_line(verdict.text());
  return verdict.passed() ? kDone : kDifference;
}

}  // namespace

void add_replay(Registration registration) {
  auto* command = registration.app.add_subcommand("replay", "Run a suite's tests on a target");
  command->footer("Example: tapml replay out/suite --target opencl");
  auto options = std::make_shared<ReplayOptions>();
  command->add_option("suite", options->suite, "Folder of the suite")->required();
  command->add_option("--model", options->model,
                      "Model directory of weights by reference that have moved");
  command
      ->add_option("--target", options->target, "Platform to test: kind[:key=value,...][@endpoint]")
      ->capture_default_str();
  auto* kernel = command->add_option(
      "--kernel", options->kernel,
      "Kernels to test: a name, the beginning of names, or a pattern with * and ?");
  auto* kernels = command->add_option(
      "--custom-kernels,--kernels", options->custom_kernels,
      "Folder of sources that replace the target's kernels (docs/custom-kernels.md)");
  auto* group = command->add_option("--group", options->group, "Number of the only group to test")
                    ->excludes(kernel);
  auto* watch = command->add_flag("--watch", options->watch,
                                  "Test the kernel again whenever a source is saved");
  watch->needs(kernel)->needs(kernels)->excludes(group);
  command
      ->add_option("--launches", options->launches.launches,
                   "Fewest launches of each kernel, over all of its calls")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--launch-seed", options->launches.seed, "Seed of the order of launches")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
  command->add_option(
      "--patterns", options->patterns.file,
      "Text module of patterns that name routines of a library (docs/libraries.md)");
  command->add_option("--inject-fault", options->inject_fault, "Fault to inject into the target")
      ->excludes(watch);
  command->add_option("--report", options->report, "Folder for report.html and report.json")
      ->excludes(watch);
  add_options(*command, options->cache);
  add_options(*command, options->libraries);
  add_options(*command, options->remote);
  options->ci.add_to(*command);
  // A watch never ends, so these files would not be written.
  watch->excludes(command->get_option("--junit"))->excludes(command->get_option("--markdown"));
  options->tolerance.add_to(*command);
  add_options(*command, options->isolation);
  set_runner(*command, registration, options, run);
  command->get_option("--json")->excludes(watch);
}

}  // namespace tapml::cli
