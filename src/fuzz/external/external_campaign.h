// A campaign against another compiler: generated graphs, compiled by it at each of its
// optimization levels, against the reference evaluator.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fuzz/external/adapter_process.h"
#include "fuzz/generate/generate.h"
#include "fuzz/oracles/compare.h"

namespace tapml::fuzz {

struct ExternalOptions {
  AdapterOptions adapter;
  uint64_t seed = 0;
  double seconds = 60;
  int64_t tests = 0;  // ends after this many programs; 0: no limit
  std::string folder;
  GenerateOptions generate;
  // Differences count beyond this many times the bounds of the reference evaluator: other compilers
  // document no error of their functions.
  double slack = 8;
  double reduce_seconds = 30;
  std::function<bool()> cancelled;
  std::function<void(const struct ExternalResult& so_far)> progress;
  std::function<void(const struct ExternalFinding& finding)> found;
};

struct ExternalFinding {
  std::string folder, kind, form, signature, message;
  int64_t count = 1;  // programs that failed in this way
  int operators = 0;  // of the reduced program
};

struct ExternalResult {
  std::string compiler;  // with its version
  int64_t tests = 0;     // programs
  int64_t ran = 0;       // that ran in the least optimized form
  int64_t refused = 0;   // that it refuses although it takes each step alone
  int64_t empty = 0;     // without any expressible step
  int64_t steps = 0;     // calls of all programs
  std::map<std::string, int64_t> inexpressible;  // calls that became inputs, by reason
  Tally tally;
  double seconds = 0;
  std::vector<ExternalFinding> findings;
};

// Program i is a function of the seed and of the programs before it. Calls that the compiler cannot
// express become inputs that have their values. A finding is a folder FOLDER/findings/I-KIND with
// the program, its reduced form, and reproduce.py, a file of the compiler's API alone. UserError if
// the compiler is not installed.
ExternalResult run_external(const ExternalOptions& options);

}  // namespace tapml::fuzz
