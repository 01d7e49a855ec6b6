// The process in which programs are generated and checked: it may crash, hang and eat memory.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "abi/platforms.h"
#include "fuzz/campaign/line_channel.h"
#include "fuzz/generate/generate.h"
#include "fuzz/oracles/oracles.h"

namespace tapml::fuzz {

// What a worker needs to know besides its programs.
struct WorkerOptions {
  GenerateOptions generate;
  bool disruptive = false;  // programs that break one rule (generate/disrupt.h)
  std::vector<std::string> targets = {kDefaultPlatform};
  double native = 0.1, others = 1, mutants = 0.5, variants = 0.1;  // shares (oracles.h)
  int depth = 3;
  int64_t memory_bytes = int64_t{4} << 30;  // of data and private mappings

  Json json() const;
  static WorkerOptions from_json(const Json& json);
};

// Answers requests until the other side ends: {"do": "configure" | "cover" | "test" | "check" |
// "save" | "reduce", ...}.
void serve_worker(LineChannel& channel, const Devices& devices);

// What a test of one program found.
struct Tested {
  bool done = false;
  bool valid = true, refused = false, finite = true, native = false, mutated = false,
       variant = false;
  bool language = false, of_mutant = false;
  int operators = 0;
  // Constructs of the program (language/constructs.h), and what occurred (Checked::features).
  std::vector<std::string> features;
  Tally tally;
  Coverage added;
  std::string invalid;
  std::optional<Problem> problem;
};

// A worker and the campaign's side of its requests. For one thread at a time.
class Worker {
 public:
  // `command` starts the program that calls serve_worker().
  Worker(std::vector<std::string> command, WorkerOptions options, double seconds)
      : command_(std::move(command)), options_(std::move(options)), seconds_(seconds) {}

  // The coverage of all programs from now on: `added` to that of before, which together are
  // `snapshot`.
  void set_coverage(const Coverage* snapshot, const Coverage& added);
  // Generates and checks a program, in `patience` times the usual time. An end of the process, or
  // of the time, is a problem.
  Tested test(uint64_t seed, double patience = 1);
  // Checks the program of a finding's folder.
  std::optional<Problem> check(const std::string& folder);
  // Saves the program of a seed, or its mutant, as a finding.
  Status save(uint64_t seed, bool of_mutant, uint64_t index, const std::string& coverage,
              const Problem& problem, const std::string& folder);
  // Reduces and bisects a finding: writes FOLDER/reduced, and returns the finding's final
  // form.
  struct Outcome {
    std::string cause, pass;
    std::set<std::string> called;
    int operators = 0;
  };
  Result<Outcome> reduce(const std::string& folder, double seconds);
  // Ends the process; the next request starts another one.
  std::string restart();

 private:
  Status ensure();
  Result<Json> ask(const Json& request, double seconds);
  // The problem of a process that ended, or did not answer, during a request.
  Problem ended(const Error& error, double seconds);

  std::vector<std::string> command_;
  WorkerOptions options_;
  double seconds_;  // for a program
  const Coverage* snapshot_ = nullptr;
  std::unique_ptr<WorkerProcess> process_;
  void note(const std::string& part);
  std::string part_, variant_;  // what the process was about to do
};

}  // namespace tapml::fuzz
