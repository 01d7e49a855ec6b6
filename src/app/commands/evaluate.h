// The command that evaluates a model on tasks: what `tapml eval` runs.
#pragma once

#include "abi/platforms.h"
#include "app/commands/choices.h"
#include "topdown/evaluate/quantization_cost.h"

namespace tapml::app {

struct EvaluateCommand {
  ModelOptions model;  // whose target is one after the other of `targets`
  std::vector<std::string> targets = {kDefaultPlatform};
  std::string tasks;         // a file (docs/cli.md, eval)
  std::string reference;     // target that the others are compared with; empty: none
  bool unquantized = false;  // the quantized model is held against the model as it is
};

struct Evaluated {
  std::vector<topdown::ScoredTask> tasks;
  std::vector<topdown::Evaluation> evaluations;      // the reference's first, unless it is a target
  std::vector<topdown::EvalComparison> comparisons;  // of all, where there is a reference
  // With `unquantized`, on the first target, where all is well.
  std::optional<topdown::QuantizationCost> cost;
  bool passed = true;  // all compute finite logits, and agree with the reference
};

// Throws, for options that mean nothing too.
Evaluated evaluate(const EvaluateCommand& command, const CommandHooks& hooks = {});

}  // namespace tapml::app
