// Saved findings, checked again on this build.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "fuzz/oracles/problem.h"
#include "io/json.h"

namespace tapml::fuzz {

enum class Standing : uint8_t {
  kRepeats,
  kChanged,     // it fails in another way
  kUnreadable,  // the folder is broken, or is no program for this build
  kFixed,
};
const char* standing_name(Standing standing);  // "repeats", "changed", ...

// Findings of one cause that call the same operators.
struct Triaged {
  std::string folder;                   // of the smallest one
  std::vector<std::string> duplicates;  // the other ones
  Standing standing = Standing::kRepeats;
  std::string kind, cause;       // of the problem that it has now; if it has none, as it was saved
  std::set<std::string> called;  // operators of the reduced program
  int operators = 0;             // calls of it
  int64_t count = 1;             // programs that failed in this way
  std::string pass, message;

  Json json() const;
};

struct TriageOptions {
  std::string folder;                // findings are looked for in all folders below
  std::vector<std::string> command;  // starts a worker
  double seconds = 20;               // for one program; more is a hang
  std::function<void(int64_t done, int64_t all)> progress;  // before each finding; may throw
};

// The findings, those that need attention first: by standing, then wrong values and crashes before
// refusals, then by how many programs failed. Reduced programs stand for their findings. UserError
// for a folder without any finding.
std::vector<Triaged> triage(const TriageOptions& options);

}  // namespace tapml::fuzz
