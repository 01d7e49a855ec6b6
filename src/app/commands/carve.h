// The command that carves runs into a suite: what `tapml carve` runs.
#pragma once

#include "app/commands/choices.h"
#include "topdown/replay/edge_cases.h"
#include "topdown/suite/source_nan.h"
#include "topdown/suite/suite.h"

namespace tapml::app {

struct CarveCommand {
  ModelOptions model;  // or a text module
  std::vector<std::string> prompts, inputs;
  std::string prompts_file, function, folder, weights = "inside";
  int64_t max_tokens = 4;
  int64_t decode = -1;       // max_tokens says it
  int64_t batch = 1;         // texts that run at once
  int64_t calls = 0;         // of a kernel with the same sizes; 0: all
  int64_t budget_bytes = 0;  // 0: no limit
  llm::SamplerOptions sampler;
  bool edge = false;
};

struct Carved {
  topdown::Suite suite;  // without tensors, which are in the folder
  int64_t tensors = 0, bytes = 0;
  bool edge_added = false;
  topdown::EdgeCases edge;
  std::optional<topdown::SourceNaN> nan;
  bool interrupted = false;

  int64_t dropped() const;  // calls of the runs that the suite does not keep
};

// Carves into the folder. What was carved before an interruption or NaN is a suite, too, and says
// that it is not all. Throws, for options that mean nothing too.
Carved carve(const CarveCommand& command, const CommandHooks& hooks = {});

}  // namespace tapml::app
