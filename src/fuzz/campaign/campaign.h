// A campaign: programs one after the other, in worker processes, until its time is over.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fuzz/campaign/state.h"

namespace tapml::fuzz {

struct CampaignOptions {
  uint64_t seed = 0;
  WorkerOptions worker;
  double seconds = 60;  // for generation and checks; findings are reduced after that, too
  int64_t tests = 0;    // ends after this many programs of this run; 0: no limit
  int jobs = 1;         // worker processes
  std::string folder;   // of state and findings; created if it is absent
  std::vector<std::string> command;  // starts a worker
  double test_seconds = 20;          // for one program; more is a hang
  double reduce_seconds = 10;        // for the reduction of one finding
  std::function<bool()> cancelled;
  // Called after each program, from any thread but one at a time, and for each new finding.
  std::function<void(const CampaignState& state, int64_t tests, double seconds)> progress;
  std::function<void(const KnownFinding& finding)> found;
};

struct CampaignResult {
  CampaignState state;
  int64_t tests = 0;  // of this run
  double seconds = 0;
  std::vector<std::string> invalid;  // errors of programs that should be valid: a few of them
  // A mutant computed other values than its program on the reference evaluator, which ends the
  // campaign: the folder of the finding.
  std::string mutator_fault;
  bool cancelled = false;
};

// Program i of a campaign is a function of (seed, i, coverage of the epochs before that of i), so
// the number of workers changes nothing. Errors are those of files and of starting a worker.
CampaignResult run_campaign(const CampaignOptions& options);

}  // namespace tapml::fuzz
