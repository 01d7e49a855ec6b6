// tapml fuzz: random programs against the compiler (docs/fuzzing.md).
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "abi/platforms.h"
#include "app/platforms.h"
#include "app/standard_streams.h"
#include "base/host/interrupt.h"
#include "base/host/progress.h"
#include "base/strings.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/fuzz_external.h"
#include "cli/fuzz_findings.h"
#include "cli/fuzz_triage.h"
#include "cli/options.h"
#include "cli/sizes.h"
#include "fuzz/campaign/campaign.h"
#include "fuzz/generate/disrupt.h"
#include "fuzz/generate/generate.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "text/printer.h"

namespace tapml::cli {

namespace {

struct GeneratorOptions {
  std::string policy = "published", mode = "strict";
  int64_t operators = 10;
  double language = 0.4;

  void add_to(CLI::App& command) {
    command.add_option("--policy", policy, "How coverage guides the generation of graphs")
        ->check(CLI::IsMember({"paper", "published", "none"}))
        ->capture_default_str();
    command
        .add_option("--mode", mode,
                    "Valid programs, or programs that break one rule and must be refused")
        ->check(CLI::IsMember({"strict", "disruptive"}))
        ->capture_default_str();
    command.add_option("--operators", operators, "Most operators of a graph")
        ->check(CLI::Range(int64_t{1}, int64_t{1000}))
        ->capture_default_str();
    command
        .add_option("--language", language,
                    "Share of programs with functions and control flow; the others are graphs")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
  }
  bool disruptive() const { return mode == "disruptive"; }
  fuzz::GenerateOptions options() const {
    return {.policy = *fuzz::policy_of(policy),
            .operators = static_cast<int>(operators),
            .language = language};
  }
};

struct GenCommand {
  GeneratorOptions generator;
  uint64_t seed = 0;
  int64_t count = 1;
  std::string coverage, output;
};

std::string program_text(const GenCommand& command, uint64_t seed, const fuzz::Coverage& snapshot) {
  fuzz::GenerateOptions options = command.generator.options();
  options.inputs = false;
  if (!command.generator.disruptive()) {
    return text::print(fuzz::generate(seed, snapshot, options).program.module);
  }
  const fuzz::Disrupted program =
      fuzz::disrupt(seed, snapshot, {options.policy, options.operators});
  return "# breaks: " + program.rule + "\n# expected: " + join(program.expected) + "\n" +
         text::print(program.module);
}

int gen(const GenCommand& command, const Output& output) {
  fuzz::Coverage snapshot;
  if (!command.coverage.empty()) {
    snapshot =
        unwrap(fuzz::Coverage::parse(unwrap(read_text_file(command.coverage)), command.coverage));
  }
  if (!command.output.empty()) unwrap(make_folder(command.output));
  std::vector<Json> programs;
  for (int64_t i = 0; i < command.count; ++i) {
    unwrap(check_interrupted());
    const uint64_t seed = fuzz::program_seed(command.seed, static_cast<uint64_t>(i));
    const std::string text = program_text(command, seed, snapshot);
    if (!command.output.empty()) {
      unwrap(write_text_atomic(command.output + "/" + std::to_string(i) + ".txt", text));
    } else {
      output.text("# ---- program " + std::to_string(i) + "\n" + text);
    }
    if (output.json) programs.push_back(Json::string(text));
  }
  output.document(Json::object({{"programs", Json::array(std::move(programs))}}));
  return kDone;
}

struct RunCommand {
  GeneratorOptions generator;
  uint64_t seed = 0;
  std::string time = "60s", corpus;
  std::vector<std::string> targets = {kDefaultPlatform};
  int64_t jobs = 1, tests = 0, depth = 3;
  double native = 0.1, others = 1, mutants = 0.5, variants = 0.1, test_seconds = 20,
         reduce_seconds = 10;
};

std::string share_text(int64_t part, int64_t whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f%%", whole == 0 ? 100 : 100.0 * part / whole);
  return text;
}

std::string findings_text(const fuzz::CampaignState& state) {
  std::map<std::string, int> kinds;
  for (const fuzz::KnownFinding& finding : state.findings) ++kinds[finding.kind];
  std::string text = counted(std::ssize(state.findings), "finding");
  for (const auto& [kind, count] : kinds) {
    text += (kind == kinds.begin()->first ? " (" : ", ") + std::to_string(count) + " " + kind;
  }
  if (!kinds.empty()) text += ")";
  const int causes = fuzz::count_causes(state.findings);
  return causes == std::ssize(state.findings) ? text : text + " of " + counted(causes, "cause");
}

std::string live_text(const fuzz::CampaignState& state, int64_t tests, double seconds) {
  char speed[32];
  std::snprintf(speed, sizeof speed, "%.1f tests/s", seconds > 0 ? tests / seconds : 0);
  return std::to_string(tests) + " tests, " + speed + ", " + share_text(state.valid, state.tests) +
         " valid, coverage " + std::to_string(state.coverage.size()) + ", " + findings_text(state);
}

fuzz::CampaignOptions campaign_options(const RunCommand& command) {
  fuzz::CampaignOptions options;
  options.seed = command.seed;
  options.seconds = parse_seconds(command.time, "--for");
  options.tests = command.tests;
  options.jobs = static_cast<int>(command.jobs);
  options.folder = command.corpus.empty() ? "fuzz-" + std::to_string(command.seed) : command.corpus;
  options.command = {"/proc/self/exe", "fuzz-worker"};
  options.test_seconds = command.test_seconds;
  options.reduce_seconds = command.reduce_seconds;
  options.worker.generate = command.generator.options();
  options.worker.disruptive = command.generator.disruptive();
  options.worker.targets = command.targets;
  options.worker.native = command.native;
  options.worker.others = command.others;
  options.worker.mutants = command.mutants;
  options.worker.variants = command.variants;
  options.worker.depth = static_cast<int>(command.depth);
  for (const std::string& target : command.targets) target::parse_target(target);
  options.cancelled = interrupted;
  return options;
}

Json finding_json(const fuzz::KnownFinding& finding) {
  return Json::object({{"folder", Json::string(finding.folder)},
                       {"kind", Json::string(finding.kind)},
                       {"pass", Json::string(finding.pass)},
                       {"cause", Json::string(finding.cause)},
                       {"called", Json::string(join(finding.called))},
                       {"count", Json::integer(finding.count)},
                       {"operators", Json::integer(finding.operators)}});
}

Json features_json(const fuzz::CampaignState& state) {
  Json json = Json::object();
  for (const auto& [name, count] : state.features) json.set(name, Json::integer(count));
  return json;
}

int run(const RunCommand& command, const Output& output) {
  install_interrupt_handler();
  fuzz::CampaignOptions options = campaign_options(command);
  Progress progress = Progress::to_stderr(output.json);
  progress.begin("fuzz");
  options.progress = [&](const fuzz::CampaignState& state, int64_t tests, double seconds) {
    progress.step(live_text(state, tests, seconds));
  };
  options.found = [&](const fuzz::KnownFinding& finding) {
    progress.note("found: " + finding.kind + (finding.pass.empty() ? "" : " in " + finding.pass) +
                  ", " + counted(finding.operators, "call") + " left: " + finding.folder);
  };
  const fuzz::CampaignResult result = fuzz::run_campaign(options);
  const fuzz::CampaignState& state = result.state;
  progress.finish(live_text(state, result.tests, result.seconds));
  for (const std::string& invalid : result.invalid) output.line("invalid program: " + invalid);
  std::vector<Json> findings;
  for (const fuzz::KnownFinding& finding : state.findings) {
    output.line(finding.kind + (finding.pass.empty() ? "" : " in " + finding.pass) + ", " +
                counted(finding.count, "program") + ": tapml fuzz replay " + finding.folder);
    findings.push_back(finding_json(finding));
  }
  output.line(options.folder + ": " + counted(state.tests, "test") + ", " +
              share_text(state.valid, state.tests) + " valid, " +
              share_text(state.finite, state.valid) + " finite, " +
              share_text(state.native, state.tests) + " compiled, " +
              share_text(state.mutants, state.tests) + " mutated, " +
              share_text(state.variants, state.tests) + " in another way, coverage " +
              std::to_string(state.coverage.size()));
  output.document(Json::object({{"tests", Json::integer(state.tests)},
                                {"tests_of_this_run", Json::integer(result.tests)},
                                {"seconds", Json::number(result.seconds)},
                                {"valid", Json::integer(state.valid)},
                                {"finite", Json::integer(state.finite)},
                                {"refused", Json::integer(state.refused)},
                                {"native", Json::integer(state.native)},
                                {"mutants", Json::integer(state.mutants)},
                                {"variants", Json::integer(state.variants)},
                                {"language", Json::integer(state.language)},
                                {"elements", Json::integer(state.elements)},
                                {"open_elements", Json::integer(state.open_elements)},
                                {"coverage", Json::integer(state.coverage.size())},
                                {"coverage_hash", Json::string(state.coverage.digest())},
                                {"features", features_json(state)},
                                {"findings", Json::array(std::move(findings))}}));
  if (!result.mutator_fault.empty()) {
    throw_internal("a mutation changes what a program computes", result.mutator_fault);
  }
  output.last_line(state.findings.empty() ? "PASS: no finding" : "FAIL: " + findings_text(state));
  return state.findings.empty() ? kDone : kDifference;
}

void add_gen(CLI::App& fuzz, const Registration& registration) {
  auto* command = fuzz.add_subcommand("gen", "Print random programs");
  command->footer("Example: tapml fuzz gen --seed 7 --count 10 -o programs");
  auto options = std::make_shared<GenCommand>();
  add_seed_option(*command, options->seed, "Seed: the same programs on every machine");
  command->add_option("--count", options->count, "Number of programs")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 32))
      ->capture_default_str();
  options->generator.add_to(*command);
  command->add_option("--coverage", options->coverage,
                      "File of what earlier programs covered (coverage-*.txt of a campaign)");
  command->add_option("-o,--output", options->output, "Folder to write one file a program to");
  set_runner(*command, registration, options, gen);
}

void add_run_command(CLI::App& fuzz, const Registration& registration) {
  auto* command = fuzz.add_subcommand("run", "Search for programs that the compiler gets wrong");
  command->footer("Example: tapml fuzz run --for 60s --seed 7 --jobs 2");
  auto options = std::make_shared<RunCommand>();
  add_seed_option(*command, options->seed, "Seed of the campaign");
  command->add_option("--for", options->time, "Time of this run, such as 90s, 10m or 6h")
      ->capture_default_str();
  command
      ->add_option("--tests", options->tests,
                   "Most programs of this run, rounded up to whole epochs (0: no limit)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40))
      ->capture_default_str();
  command->add_option("--corpus", options->corpus,
                      "Folder of the campaign, which continues there (default: fuzz-SEED)");
  command->add_option("--target", options->targets, "Target that programs run on (repeatable)")
      ->capture_default_str();
  command->add_option("--jobs", options->jobs, "Worker processes; the programs do not depend on it")
      ->check(CLI::Range(int64_t{1}, int64_t{256}))
      ->capture_default_str();
  command->add_option("--native", options->native, "Share of programs that run on the targets")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command
      ->add_option("--others", options->others,
                   "Share of those that each target but the first gets")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--mutants", options->mutants, "Share of programs that are also mutated")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command
      ->add_option("--variants", options->variants,
                   "Share of programs that are also compiled in another way")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--depth", options->depth, "Most mutations of one program")
      ->check(CLI::Range(int64_t{1}, int64_t{100}))
      ->capture_default_str();
  command->add_option("--test-seconds", options->test_seconds, "Longest time of one program")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  command
      ->add_option("--reduce-seconds", options->reduce_seconds,
                   "Longest time for the reduction of one finding")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  options->generator.add_to(*command);
  set_runner(*command, registration, options, run);
}

}  // namespace

void add_fuzz(Registration registration) {
  auto* fuzz = registration.app.add_subcommand(
      "fuzz", "Search for defects of the compiler with random programs");
  fuzz->require_subcommand(1);
  add_run_command(*fuzz, registration);
  add_gen(*fuzz, registration);
  add_fuzz_findings(*fuzz, registration);
  add_fuzz_triage(*fuzz, registration);
  add_fuzz_external(*fuzz, registration);
}

}  // namespace tapml::cli
