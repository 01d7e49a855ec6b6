// What a campaign keeps in its folder, so that it resumes: state.json and the coverage that it
// names. Both are written whole, and only between epochs.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fuzz/campaign/worker.h"

namespace tapml::fuzz {

// Findings of one cause are alike but for the operators that their reduced programs call.
struct KnownFinding {
  std::string folder, kind, pass;
  std::string cause;             // the signature of the reduced problem
  std::set<std::string> called;  // operators of the reduced program
  int64_t count = 1;             // programs that failed in this way
  int operators = 0;             // calls of the reduced program
  uint64_t index = 0;            // of the first program
};
int count_causes(const std::vector<KnownFinding>& findings);
// Whether the finding is `known`: of the same cause and, if no message tells causes apart, with all
// its operators.
bool is_known(const KnownFinding& finding, const KnownFinding& known);

struct CampaignState {
  uint64_t seed = 0;
  WorkerOptions options;
  uint64_t next = 0;  // the first program that is not counted yet
  int64_t tests = 0, valid = 0, finite = 0, refused = 0, native = 0, mutants = 0, variants = 0,
          language = 0;
  int64_t elements = 0, open_elements = 0;  // compared; with an infinite bound (Tally)
  double seconds = 0;                       // of all runs
  std::map<std::string, int64_t> features;  // programs with each (Tested::features)
  Coverage coverage;
  std::vector<KnownFinding> findings;
  std::map<std::string, int64_t> signatures;  // of findings as they were found, to `findings`
  // Moments: tests and covered keys, after each epoch.
  std::vector<std::pair<int64_t, int64_t>> curve;
};

// The state of a folder. UserError for one that has none, or a broken one.
CampaignState read_state(const std::string& folder);
// The same to go on with it; a new one if the folder has none. UserError for a broken one, and for
// one of another seed or other options.
CampaignState load_state(const std::string& folder, uint64_t seed, const WorkerOptions& options);
void save_state(const CampaignState& state, const std::string& folder);

}  // namespace tapml::fuzz
