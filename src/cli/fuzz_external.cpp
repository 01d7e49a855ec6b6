// tapml fuzz external: random programs against another compiler.
#include "cli/fuzz_external.h"

#include <CLI/CLI.hpp>

#include "base/host/interrupt.h"
#include "base/host/progress.h"
#include "base/units.h"
#include "cli/options.h"
#include "cli/sizes.h"
#include "fuzz/external/adapters.h"
#include "fuzz/external/external_campaign.h"

namespace tapml::cli {

namespace {

struct ExternalCommand {
  std::string compiler, python = "python3", time = "60s", corpus, memory = "8G";
  uint64_t seed = 0;
  int64_t tests = 0, operators = 10;
  double test_seconds = 60, reduce_seconds = 30, slack = 8;
};

std::string live_text(const fuzz::ExternalResult& result) {
  char speed[32];
  std::snprintf(speed, sizeof speed, "%.1f tests/s",
                result.seconds > 0 ? static_cast<double>(result.tests) / result.seconds : 0);
  return counted(result.tests, "test") + ", " + speed + ", " + std::to_string(result.ran) +
         " ran, " + std::to_string(result.refused) + " refused, " +
         counted(std::ssize(result.findings), "finding");
}

Json counts_json(const std::map<std::string, int64_t>& counts) {
  Json json = Json::object();
  for (const auto& [what, count] : counts) json.set(what, Json::integer(count));
  return json;
}

Json finding_json(const fuzz::ExternalFinding& finding) {
  return Json::object({{"folder", Json::string(finding.folder)},
                       {"kind", Json::string(finding.kind)},
                       {"form", Json::string(finding.form)},
                       {"message", Json::string(finding.message)},
                       {"signature", Json::string(finding.signature)},
                       {"count", Json::integer(finding.count)},
                       {"operators", Json::integer(finding.operators)}});
}

Json result_json(const fuzz::ExternalResult& result) {
  std::vector<Json> findings;
  for (const fuzz::ExternalFinding& finding : result.findings) {
    findings.push_back(finding_json(finding));
  }
  return Json::object({{"compiler", Json::string(result.compiler)},
                       {"tests", Json::integer(result.tests)},
                       {"seconds", Json::number(result.seconds)},
                       {"ran", Json::integer(result.ran)},
                       {"refused", Json::integer(result.refused)},
                       {"empty", Json::integer(result.empty)},
                       {"calls", Json::integer(result.steps)},
                       {"elements", Json::integer(result.tally.all)},
                       {"open_elements", Json::integer(result.tally.open)},
                       {"inexpressible", counts_json(result.inexpressible)},
                       {"findings", Json::array(std::move(findings))}});
}

// The most frequent reasons, one a line.
void print_counts(const std::map<std::string, int64_t>& counts, const Output& output) {
  constexpr size_t kMost = 12;
  std::vector<std::pair<int64_t, std::string>> sorted;
  for (const auto& [what, count] : counts) sorted.emplace_back(-count, what);
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < std::min(kMost, sorted.size()); ++i) {
    output.line("  " + std::to_string(-sorted[i].first) + "  " + sorted[i].second);
  }
  if (sorted.size() > kMost) {
    output.line("  and " +
                counted(std::ssize(sorted) - static_cast<int64_t>(kMost), "more reason"));
  }
}

int external(const ExternalCommand& command, const Output& output) {
  install_interrupt_handler();
  fuzz::ExternalOptions options;
  options.adapter = {.adapter = *fuzz::find_adapter(command.compiler),
                     .python = command.python,
                     .seconds = command.test_seconds,
                     .memory_bytes = parse_size(command.memory, "--memory-limit")};
  options.seed = command.seed;
  options.seconds = parse_seconds(command.time, "--for");
  options.tests = command.tests;
  options.folder = command.corpus.empty()
                       ? "fuzz-" + command.compiler + "-" + std::to_string(command.seed)
                       : command.corpus;
  options.generate = {
      .operators = static_cast<int>(command.operators), .language = 0, .patterns = 0};
  options.slack = command.slack;
  options.reduce_seconds = command.reduce_seconds;
  options.cancelled = interrupted;
  Progress progress = Progress::to_stderr(output.json);
  progress.begin("fuzz " + command.compiler);
  options.progress = [&](const fuzz::ExternalResult& result) { progress.step(live_text(result)); };
  options.found = [&](const fuzz::ExternalFinding& finding) {
    progress.note("found: " + finding.kind + " in " + finding.form + ", " +
                  counted(finding.operators, "call") + " left: " + finding.folder);
  };
  const fuzz::ExternalResult result = fuzz::run_external(options);
  progress.finish(live_text(result));
  int64_t cut = 0;
  for (const auto& [reason, count] : result.inexpressible) cut += count;
  output.line(result.compiler + ": " + counted(result.tests, "program") + ", of which " +
              std::to_string(result.ran) + " ran, " + std::to_string(result.refused) +
              " were refused and " + std::to_string(result.empty) + " had nothing expressible");
  output.line(std::to_string(cut) + " of " + counted(result.steps, "call") +
              " became inputs, because the compiler has not:");
  print_counts(result.inexpressible, output);
  for (const fuzz::ExternalFinding& finding : result.findings) {
    output.line(finding.kind + " in " + finding.form + ", " + counted(finding.count, "program") +
                ": " + command.python + " " + finding.folder + "/reproduce.py");
  }
  output.document(result_json(result));
  output.last_line(result.findings.empty()
                       ? "PASS: no finding"
                       : "FAIL: " + counted(std::ssize(result.findings), "finding"));
  return result.findings.empty() ? kDone : kDifference;
}

}  // namespace

void add_fuzz_external(CLI::App& fuzz, const Registration& registration) {
  auto* command =
      fuzz.add_subcommand("external", "Search for programs that another compiler gets wrong");
  command->footer("Example: tapml fuzz external --compiler onnxruntime --for 60s --seed 7");
  auto options = std::make_shared<ExternalCommand>();
  std::vector<std::string> names;
  for (const fuzz::Adapter& adapter : fuzz::adapters()) names.emplace_back(adapter.name);
  command->add_option("--compiler", options->compiler, "The compiler, a package of Python")
      ->required()
      ->check(CLI::IsMember(names));
  command->add_option("--python", options->python, "Python that has the compiler")
      ->capture_default_str();
  add_seed_option(*command, options->seed, "Seed of the campaign");
  command->add_option("--for", options->time, "Time of the run, such as 90s, 10m or 6h")
      ->capture_default_str();
  command->add_option("--tests", options->tests, "Most programs (0: no limit)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40))
      ->capture_default_str();
  command->add_option("--corpus", options->corpus,
                      "Folder of the findings (default: fuzz-COMPILER-SEED)");
  command->add_option("--operators", options->operators, "Most operators of a program")
      ->check(CLI::Range(int64_t{1}, int64_t{1000}))
      ->capture_default_str();
  command
      ->add_option("--slack", options->slack,
                   "Differences count beyond this many times the bounds of the reference")
      ->check(CLI::Range(1.0, 1e9))
      ->capture_default_str();
  command->add_option("--memory-limit", options->memory, "Most memory of the compiler's process")
      ->capture_default_str();
  command->add_option("--test-seconds", options->test_seconds, "Longest time of one program")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  command
      ->add_option("--reduce-seconds", options->reduce_seconds,
                   "Longest time for the reduction of one finding")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  set_runner(*command, registration, options, external);
}

}  // namespace tapml::cli
