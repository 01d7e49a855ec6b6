// A finding as a folder: program.txt, inputs.txt, side.safetensors (larger constants), finding.json
// and, once it is reduced, a finding in the folder `reduced`.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "abi/platforms.h"
#include "fuzz/oracles/problem.h"
#include "fuzz/program.h"
#include "fuzz/reduce/bisect.h"
#include "fuzz/reduce/reduce.h"

namespace tapml::fuzz {

struct Finding {
  Program program;
  Problem problem;
  std::vector<std::string> targets = {kDefaultPlatform};
  // Where it comes from: the seed of the program, its number in the campaign, the hash of the
  // coverage that it was generated from, and its mutations (empty: none).
  uint64_t seed = 0, index = 0;
  std::string coverage, mutations;
  // Of a program that breaks a rule, the parts of the diagnostic that are expected; such a program
  // has no arguments.
  std::vector<std::string> expected;
};

// Creates the folder. Errors are those of writing files.
void save_finding(const Finding& finding, const std::string& folder);
// UserError for a folder that holds no finding, or a broken one. Programs are checked.
Finding load_finding(const std::string& folder);

// Writes FOLDER/reduced, and the guilty pass into both (pass.json, before.txt, after.txt).
struct FinalForm {
  Problem problem;               // in the simplest variant, with the guilty pass
  std::set<std::string> called;  // operators that are left
};
FinalForm finish_finding(const Finding& finding, const Reduced& reduced, const Bisection& guilty,
                         const std::string& folder);

}  // namespace tapml::fuzz
