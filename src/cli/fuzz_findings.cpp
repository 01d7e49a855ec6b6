// tapml fuzz replay, reduce, bisect: what to do with a finding of tapml fuzz run.
#include "cli/fuzz_findings.h"

#include <CLI/CLI.hpp>

#include "app/platforms.h"
#include "app/standard_streams.h"
#include "base/host/interrupt.h"
#include "base/host/progress.h"
#include "base/units.h"
#include "cli/options.h"
#include "fuzz/campaign/finding.h"
#include "fuzz/campaign/worker.h"
#include "fuzz/language/library_functions.h"
#include "io/host/scratch_folder.h"
#include "ir/exceptions.h"
#include "text/printer.h"

namespace tapml::cli {

namespace {

struct FindingCommand {
  std::string folder;
  double seconds = 20;
  bool in_process = false;
};

// Checks programs where a crash does no harm; in this process for a debugger.
class Checker {
 public:
  Checker(const fuzz::Finding& finding, const FindingCommand& command)
      : finding_(finding),
        in_process_(command.in_process),
        oracles_({.targets = finding.targets, .devices = fuzz_devices()}),
        worker_({"/proc/self/exe", "fuzz-worker"}, options_of(finding), command.seconds) {}

  std::optional<fuzz::Problem> check(const fuzz::Program& program, const fuzz::Problem& problem) {
    if (in_process_) return oracles_.check_again(program, problem).problem;
    if (!scratch_) scratch_.emplace(unwrap(ScratchFolder::create("fuzz")));
    fuzz::Finding candidate = finding_;
    candidate.program = program;
    candidate.problem = problem;
    fuzz::save_finding(candidate, scratch_->path());
    return worker_.check(scratch_->path());
  }

 private:
  static fuzz::WorkerOptions options_of(const fuzz::Finding& finding) {
    fuzz::WorkerOptions options;
    options.targets = finding.targets;
    return options;
  }
  const fuzz::Finding& finding_;
  bool in_process_;
  fuzz::Oracles oracles_;
  fuzz::Worker worker_;
  std::optional<ScratchFolder> scratch_;
};

void print_problem(const fuzz::Problem& problem, const Output& output) {
  output.line(std::string(fuzz::problem_kind_name(problem.kind)) + ": " + problem.stage +
              (problem.pass.empty() ? "" : ", pass " + problem.pass));
  output.line(problem.message);
}

int replay(const FindingCommand& command, const Output& output) {
  install_interrupt_handler();
  const fuzz::Finding finding = fuzz::load_finding(command.folder);
  Checker checker(finding, command);
  const std::optional<fuzz::Problem> found = checker.check(finding.program, finding.problem);
  Json json = Json::object({{"expected", finding.problem.json()}});
  json.set("found", found ? found->json() : Json::null());
  const bool same = found && found->same_as(finding.problem);
  json.set("same", Json::boolean(same));
  if (found) print_problem(*found, output);
  output.document(json);
  output.last_line(same    ? "FAIL: the finding repeats"
                   : found ? "FAIL: another problem than that of the finding"
                           : "PASS: the program has no problem");
  return found ? kDifference : kDone;
}

int reduce(const FindingCommand& command, const Output& output) {
  install_interrupt_handler();
  const fuzz::Finding finding = fuzz::load_finding(command.folder);
  Checker checker(finding, command);
  Progress progress = Progress::to_stderr(output.json, Progress::kPatience);
  progress.begin("reduce");
  fuzz::ReduceOptions options;
  options.seconds = command.seconds;
  options.cancelled = interrupted;
  options.check = [&](const fuzz::Program& candidate, const fuzz::Problem& problem) {
    progress.step(counted(fuzz::count_calls(candidate.module), "call"));
    return checker.check(candidate, problem);
  };
  const std::optional<fuzz::Problem> whole = checker.check(finding.program, finding.problem);
  if (!whole || !whole->same_as(finding.problem)) {
    throw_user("the finding does not repeat, so it cannot be reduced", command.folder,
               finding.problem.signature(), whole ? whole->signature() : "no problem");
  }
  const fuzz::Reduced reduced = fuzz::reduce(finding.program, finding.problem, options);
  progress.end();
  fuzz::Finding smaller = finding;
  smaller.program = reduced.program;
  smaller.problem = reduced.problem;
  const std::string folder = command.folder + "/reduced";
  fuzz::save_finding(smaller, folder);
  output.text(text::print(reduced.program.module));
  output.line(folder + ": " + counted(reduced.operators, "call") + ", " +
              counted(reduced.tried, "candidate"));
  output.document(Json::object({{"folder", Json::string(folder)},
                                {"operators", Json::integer(reduced.operators)},
                                {"candidates", Json::integer(reduced.tried)},
                                {"program", Json::string(text::print(reduced.program.module))}}));
  return kDone;
}

int bisect(const FindingCommand& command, const Output& output) {
  install_interrupt_handler();
  const fuzz::Finding finding = fuzz::load_finding(command.folder);
  const fuzz::Bisection guilty = fuzz::bisect(
      finding.program, finding.problem, {.targets = finding.targets, .devices = fuzz_devices()});
  if (!guilty.before.empty()) {
    output.text("# before " + guilty.pass + "\n" + guilty.before);
    output.text("# after " + guilty.pass + "\n" + guilty.after);
  }
  output.line(guilty.reason);
  output.document(Json::object({{"pass", Json::string(guilty.pass)},
                                {"reason", Json::string(guilty.reason)},
                                {"before", Json::string(guilty.before)},
                                {"after", Json::string(guilty.after)}}));
  output.last_line(guilty.pass.empty() ? "no pass is known to be at fault"
                                       : "at fault: " + guilty.pass);
  return kDone;
}

void add(CLI::App& fuzz, const Registration& registration, const char* name, const char* what,
         int (*run)(const FindingCommand&, const Output&)) {
  auto* command = fuzz.add_subcommand(name, what);
  command->footer(std::string("Example: tapml fuzz ") + name + " fuzz-7/findings/12-values");
  auto options = std::make_shared<FindingCommand>();
  command->add_option("finding", options->folder, "Folder of a finding")->required();
  command->add_option("--seconds", options->seconds, "Longest time")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  command->add_flag("--in-process", options->in_process,
                    "Run in this process, where a debugger sees a crash");
  set_runner(*command, registration, options, run);
}

}  // namespace

fuzz::Devices fuzz_devices() {
  fuzz::Devices devices;
  devices.open = [](target::Target& target) {
    device::HostLibraries libraries;
    if (target.description.library_routines && target.endpoint.empty()) {
      libraries.push_back(unwrap(device::HostLibrary::wrap(&fuzz::routine_table(), "fuzz")));
    }
    return open_session(target, {}, libraries);
  };
  for (const std::string& name : device::built_in_libraries()) {
    if (device::is_library_installed(name)) devices.libraries.push_back(name);
  }
  return devices;
}

void add_fuzz_findings(CLI::App& fuzz, const Registration& registration) {
  add(fuzz, registration, "replay", "Run the program of a finding again", replay);
  add(fuzz, registration, "reduce", "Make the program of a finding smaller", reduce);
  add(fuzz, registration, "bisect", "Name the pass that makes a finding fail", bisect);
}

}  // namespace tapml::cli
