// The command behind `tapml carve`: carves runs into a suite.
#pragma once

#include "app/commands/choices.h"
#include "topdown/replay/edge_cases.h"
#include "topdown/suite/source_nan.h"
#include "topdown/suite/suite.h"

namespace tapml::app {

struct CarveCommand {
  ModelOptions model;  // a model, or a text module
  std::vector<std::string> prompts, inputs;
  EncoderTexts texts;                        // of an encoder, in place of prompts
  std::vector<std::vector<int32_t>> tokens;  // of texts, in place of prompts and texts
  std::string prompts_file, function, folder, weights = "inside";
  int64_t max_tokens = 4;
  int64_t decode = -1;       // -1: max_tokens
  int64_t batch = 1;         // texts per batch
  int64_t draft_tokens = 0;  // that a call of logits_all checks after each text; 0: no such call
  int64_t calls = 0;         // per kernel and sizes; 0: all
  int64_t budget_bytes = 0;  // 0: no limit
  llm::SamplerOptions sampler;
  bool edge = false;
  bool as_run = false;  // with the cache of a plain run, not a fragmented one (llm::EngineOptions)
};

struct Carved {
  topdown::Suite suite;  // its tensors stay in the folder, if there is one
  int64_t tensors = 0, bytes = 0;
  bool edge_added = false;
  topdown::EdgeCases edge;
  std::optional<topdown::SourceNaN> nan;
  bool interrupted = false;
};

// Carves into the folder, or into memory without one. After an interruption or NaN the tests carved
// so far are a suite too, marked as incomplete. Throws, also for options that do not fit together.
Carved carve(const CarveCommand& command, const CommandHooks& hooks = {});

}  // namespace tapml::app
