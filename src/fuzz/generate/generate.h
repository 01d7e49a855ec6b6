// The programs of a campaign.
#pragma once

#include <cstdint>
#include <optional>

#include "fuzz/generate/coverage.h"
#include "fuzz/generate/policy.h"
#include "fuzz/program.h"

namespace tapml::fuzz {

struct GenerateOptions {
  Policy policy = Policy::kPublished;
  int operators = 10;  // at most, in a graph
  // The share of programs with functions, control flow and other parts of the language beyond a
  // straight line of operators (language/language.h).
  double language = 0.4;
  bool inputs = true;     // false: programs without arguments, where nothing runs
  double patterns = 0.5;  // the share of graphs with patterns that match parts of them
};

struct Generated {
  Program program;
  // Main's value by the reference evaluator, where the search for inputs has computed it.
  std::optional<interp::Value> value;
  Coverage added;  // what the snapshot did not have
  int operators = 0, refused = 0;
  bool language = false;
};

// The seed of program `index` of a campaign.
uint64_t program_seed(uint64_t campaign, uint64_t index);

// A valid program, as a function of its arguments: the same on every machine. Its text needs no
// side file.
Generated generate(uint64_t seed, const Coverage& snapshot, const GenerateOptions& options);

}  // namespace tapml::fuzz
