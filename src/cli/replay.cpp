// tapml replay: a suite's tests on a target.
#include "topdown/replay/replay.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <limits>

#include "abi/platforms.h"
#include "app/command_options.h"
#include "app/isolation.h"
#include "app/libraries.h"
#include "app/platforms.h"
#include "base/host/interrupt.h"
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
#include "passes/kernel.h"
#include "topdown/faults/plant.h"
#include "topdown/kernels/user_kernels.h"
#include "topdown/replay/group_replay.h"
#include "topdown/report/report.h"
#include "topdown/report/report_parts.h"
#include "topdown/report/speed_table.h"
#include "topdown/report/verdict_lines.h"
#include "topdown/results/result_json.h"
#include "topdown/runner/kernel_speed.h"
#include "topdown/suite/coverage.h"
#include "topdown/suite/kernel_names.h"

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

topdown::CommandOptions options_again(const ReplayOptions& options) {
  topdown::CommandOptions again =
      command_options(options.libraries, options.remote, options.isolation);
  again.patterns = options.patterns.file;
  again.kernels = options.custom_kernels;
  again.tolerance = options.tolerance.file;
  again.model = options.model;
  again.group = options.group;
  again.launches = options.launches;
  if (!options.inject_fault.empty()) again.plants = {options.inject_fault};
  return again;
}

std::string command_line(const ReplayOptions& options) {
  return topdown::replay_command(options.suite, options.target, options.kernel,
                                 options_again(options));
}

void write_report(const ReplayOptions& options, const topdown::Replayed& replayed, const Json& json,
                  const Output& output) {
  const std::string page = options.report + "/report.html";
  unwrap(write_text_atomic(
      page, topdown::replay_html(replayed, command_line(options), options_again(options))));
  unwrap(write_text_atomic(options.report + "/report.json", json.dump(1) + "\n"));
  output.line("report: " + page);
}

// Of the kernels that are right.
topdown::SpeedTable measure_speed(const topdown::Suite& suite,
                                  const std::vector<topdown::KernelVerdict>& verdicts,
                                  topdown::Sandbox& sandbox, CompileCache& cache) {
  std::vector<int32_t> right;
  for (const topdown::KernelVerdict& verdict : verdicts) {
    if (verdict.passed && !verdict.group) right.push_back(suite.find_kernel(verdict.kernel));
  }
  return topdown::measure_speed(suite, right, sandbox, cache.kernels());
}

// What of the suite is run.
struct Wanted {
  std::vector<int32_t> kernels;  // with tests of their own
  std::vector<size_t> groups;
  std::vector<std::string> left_out;         // kernels of the suite that were not asked for
  std::vector<topdown::KernelUse> untested;  // else: kernels without a test
  std::set<std::string> compiled;            // kernels of all these
};

Wanted wanted_of(const topdown::Suite& suite, const ReplayOptions& options) {
  const bool chosen = !options.kernel.empty();
  std::set<std::string> chosen_names;
  if (chosen) {
    const std::vector<std::string> names = topdown::kernel_names(suite);
    const topdown::KernelQuestion asked{"--kernel", "the suite"};
    if (options.watch) {
      chosen_names.insert(topdown::find_kernel(names, options.kernel, asked));
    } else {
      const std::vector<std::string> found = topdown::find_kernels(names, options.kernel, asked);
      chosen_names.insert(found.begin(), found.end());
    }
  }
  const int64_t groups = std::ssize(suite.groups);
  if (options.group && (*options.group < 0 || *options.group >= groups)) {
    throw_user("the suite has no such group", "--group",
               groups == 0 ? "a suite with groups" : "0 to " + std::to_string(groups - 1),
               std::to_string(*options.group));
  }
  Wanted wanted;
  std::set<std::string> parts;  // kernels of groups
  std::string part_of;
  for (int64_t g = 0; g < groups; ++g) {
    const auto names = suite.kernels_of(suite.groups[static_cast<size_t>(g)]);
    if (part_of.empty() && std::ranges::any_of(names, [&](const std::string& name) {
          return chosen_names.contains(name);
        })) {
      part_of = std::to_string(g);
    }
    if (options.group ? *options.group != g : chosen) continue;
    wanted.groups.push_back(static_cast<size_t>(g));
    parts.insert(names.begin(), names.end());
  }
  for (int32_t k = 0; k < static_cast<int32_t>(suite.kernels.size()); ++k) {
    const std::string& name = suite.kernels[static_cast<size_t>(k)].name;
    const bool asked = !options.group && (!chosen || chosen_names.contains(name));
    if (asked && std::ranges::count(suite.calls, k, &topdown::SuiteCall::kernel) > 0) {
      wanted.kernels.push_back(k);
      wanted.compiled.insert(name);
    } else if (!parts.contains(name) && !chosen_names.contains(name) && (options.group || chosen)) {
      wanted.left_out.push_back(name);
    }
  }
  if (!options.group) {
    wanted.untested = topdown::untested_kernels(suite);
    std::erase_if(wanted.untested, [&](const topdown::KernelUse& use) {
      return chosen && !chosen_names.contains(use.kernel);
    });
  }
  wanted.compiled.merge(parts);
  if (!wanted.kernels.empty() || !wanted.groups.empty()) return wanted;
  throw_user(
      chosen ? "the suite has no test of kernel " + options.kernel : "the suite has no tests",
      options.suite, "one call at least", "none",
      part_of.empty() ? "carve a run that calls its kernels"
                      : "it is part of a group: --group " + part_of);
}

// A fault in a kernel that is not run would show nothing.
void expect_fault_runs(const topdown::Suite& suite, const Wanted& wanted,
                       const ReplayOptions& options) {
  const std::string kernel =
      topdown::planted_kernel(suite, topdown::parse_plant(options.inject_fault).first);
  if (wanted.compiled.contains(kernel)) return;
  std::string known;
  for (const std::string& name : wanted.compiled) known += (known.empty() ? "" : ", ") + name;
  throw_user("the fault is for a kernel that is not run", "--inject-fault " + options.inject_fault,
             "one of " + known, kernel, options.group ? "leave --group out" : "leave --kernel out");
}

// The kernels that are wanted, of all.
Module module_of(const Module& all, const std::set<std::string>& kernels) {
  Module module;
  for (const std::string& name : kernels) {
    for (const auto& [own, function] : passes::kernel_alone(all, name).functions) {
      module.functions[own] = function;
    }
  }
  module.attrs = all.attrs;
  return module;
}

int run(const ReplayOptions& options, const Output& output) {
  target::Target target = target::parse_target(options.target);
  if (!options.inject_fault.empty()) topdown::parse_plant(options.inject_fault);
  options.ci.check();
  check_report_folder(options.report);
  const topdown::Tolerances tolerances = options.tolerance.load();
  const device::HostLibraries libraries = options.libraries.load();
  Progress progress = Progress::to_stderr(output.json);
  RemoteOptions remote = options.remote;
  remote.watcher = progress.watcher();
  PlatformUnderTest platform =
      open_under_test(target, options.libraries, remote, options.isolation);
  std::vector<topdown::UserSource> sources;
  if (!options.custom_kernels.empty())
    sources = topdown::read_user_sources(options.custom_kernels, target);
  progress.begin("read " + options.suite, 0, Progress::kPatience);
  topdown::Suite suite =
      unwrap(topdown::load_suite(options.suite, options.model, progress.watcher()));
  progress.end();
  if (!suite.incomplete.empty()) say_what_is_missing(suite, output);
  // More launches than usual take as much longer.
  topdown::ReplayOptions launches = options.launches;
  launches.seconds *= std::max(1.0, static_cast<double>(launches.launches) /
                                        static_cast<double>(topdown::ReplayOptions().launches));
  const Wanted wanted = wanted_of(suite, options);
  if (!options.inject_fault.empty()) expect_fault_runs(suite, wanted, options);
  topdown::Replayed replayed;
  replayed.suite = options.suite;
  replayed.target = options.target;
  topdown::Timeline timeline;
  progress.begin("compile for " + options.target);
  timeline.begin("steps", "compile for " + options.target);
  topdown::Judge judge(suite);
  judge.set_tolerances(tolerances);
  judge.set_poll([] { unwrap(check_interrupted()); });
  judge.set_watcher(progress.watcher());
  pipeline::ImplementOptions implement;
  implement.instruments.poll = [] { unwrap(check_interrupted()); };
  implement.instruments.watcher = progress.watcher();
  implement.libraries = library_options(libraries, options.patterns);
  CompileCache cache(options.cache);
  implement.cache = cache.kernels();
  implement.module_per_kernel = true;
  topdown::Sandbox sandbox(std::move(platform.platform), interrupted);
  if (options.watch) {
    progress.end();
    watch_kernel(suite, judge, *wanted.compiled.begin(), options.custom_kernels, sandbox, output);
  }
  if (!options.inject_fault.empty()) {
    auto [kernel, kind] = topdown::parse_plant(options.inject_fault);
    const topdown::PlantedKernel planted =
        topdown::plant(suite, judge, kernel, kind, sandbox, interrupted);
    implement.rewrite = [planted](const std::string& name, tir::PrimFuncRef scheduled) {
      return name == planted.kernel ? planted.implementation : scheduled;
    };
  }
  const topdown::UserKernels user(std::move(sources), judge.module());
  const Module module = module_of(judge.module(), wanted.compiled);
  implement.foreign = user.compile(module, target, interrupted);
  user.check(implement.foreign, target, sandbox.session());
  auto executable = pipeline::implement(module, target, implement);
  sandbox.load(executable);
  progress.begin("replay", std::ssize(wanted.kernels) + std::ssize(wanted.groups));
  bool colors = terminal_has_colors(1);
  const topdown::KernelWatcher watch = kernel_rows(progress);
  auto name_of = [&](int32_t kernel) -> const std::string& {
    return suite.kernels[static_cast<size_t>(kernel)].name;
  };
  for (int32_t kernel : wanted.kernels) watch({.kernel = name_of(kernel)});
  for (size_t group : wanted.groups) watch({.kernel = "group " + std::to_string(group)});
  // On a terminal that shows the rows above the live line, these lines come after it.
  std::vector<std::string> later;
  auto say = [&](const std::string& line) {
    if (progress.live() && is_terminal(STDOUT_FILENO)) {
      later.push_back(line);
    } else {
      output.line(line);
    }
  };
  std::vector<std::string> names;
  for (int32_t kernel : wanted.kernels) names.push_back(name_of(kernel));
  for (const topdown::KernelUse& use : wanted.untested) names.push_back(use.kernel);
  const TableLayout table = topdown::verdict_table(names, text_width(STDOUT_FILENO), colors);
  say(topdown::verdict_header(table));
  auto judged = [&](const std::string& name, auto&& replay) {
    unwrap(check_interrupted());
    progress.step(name);
    timeline.begin("replay", name);
    watch({.kernel = name, .stage = topdown::KernelStage::kTesting});
    topdown::KernelVerdict verdict = unwrap(replay());
    const std::string outcome = topdown::verdict_outcome(verdict);
    watch({.kernel = name,
           .stage = topdown::KernelStage::kDone,
           .verdict = &verdict,
           .outcome = outcome,
           .good = verdict.passed});
    say(topdown::verdict_row(table, verdict, outcome));
    const std::string group =
        verdict.group ? verdict.kernel + ": " + topdown::borders_text(verdict) : "";
    for (const std::string& text :
         {group, verdict.failure, verdict.note, topdown::tolerance_text(verdict),
          topdown::source_text(verdict)}) {
      if (!text.empty()) say("  " + topdown::indented(text));
    }
    replayed.verdicts.push_back(std::move(verdict));
  };
  replayed.untested = wanted.untested;
  replayed.left_out = wanted.left_out;
  replayed.incomplete = suite.incomplete;
  for (int32_t kernel : wanted.kernels) {
    judged(name_of(kernel),
           [&] { return topdown::replay_kernel(suite, judge, kernel, sandbox, launches); });
  }
  for (size_t group : wanted.groups) {
    judged("group " + std::to_string(group),
           [&] { return topdown::replay_group(suite, judge, group, sandbox, launches); });
  }
  for (const topdown::KernelUse& use : wanted.untested) say(topdown::untested_row(table, use));
  replayed.target_info = sandbox.session().info();
  if (!options.report.empty()) {
    unwrap(check_interrupted());
    timeline.begin("steps", "speed");
    replayed.speed = measure_speed(suite, replayed.verdicts, sandbox, cache);
    const std::string slow = topdown::slow_text(replayed.speed, options.target);
    if (!slow.empty()) say(slow);
  }
  replayed.timeline = timeline.take();
  replayed.seconds = timeline.now();
  const topdown::VerdictLine verdict = topdown::verdict_line(replayed);
  const std::string own = topdown::user_kernels_text(topdown::verdicts_of(replayed));
  if (!own.empty()) say(own);
  progress.finish(verdict.verdict == topdown::Verdict::kFail ? "differences found"
                                                             : "all within their bounds");
  for (const std::string& line : later) output.line(line);
  std::set<std::string> kernels;
  for (const auto& kernel : suite.kernels) kernels.insert(kernel.name);
  warn_unused(options.tolerance, tolerances, kernels);
  options.ci.write(
      topdown::ci_report("tapml replay " + options.suite + " on " + options.target, replayed));
  Json json = topdown::replayed_json(replayed);
  if (!options.report.empty() || output.json) {
    replayed.run = topdown::run_facts(options.suite, suite);
    json.set("run", topdown::run_json(replayed.run, command_line(options)));
  }
  if (!options.report.empty()) write_report(options, replayed, json, output);
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
      "Folder of sources that replace the target's kernels (docs/user-kernels.md)");
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
  // A watch has no end at which they would be written.
  watch->excludes(command->get_option("--junit"))->excludes(command->get_option("--markdown"));
  options->tolerance.add_to(*command);
  add_options(*command, options->isolation);
  command
      ->add_flag("--json", registration.output.json, "Print one JSON document on standard output")
      ->excludes(watch);
  command->callback([options, registration] {
    registration.selected = [options, registration] { return run(*options, registration.output); };
  });
}

}  // namespace tapml::cli
