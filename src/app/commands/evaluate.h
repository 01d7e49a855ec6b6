// The command behind `tapml eval`: evaluates a model on tasks.
#pragma once

#include "abi/platforms.h"
#include "app/commands/choices.h"
#include "topdown/evaluate/quantization_cost.h"

namespace tapml::app {

struct EvaluateCommand {
  ModelOptions model;  // its platform is each of `targets` in turn
  std::vector<PlatformChoice> targets;
  std::string tasks;                      // a file (docs/cli.md, eval)
  std::optional<std::string> tasks_text;  // its content, if the caller has it
  std::string reference;                  // target that the others are compared with; empty: none
  bool unquantized = false;               // compares the quantized model with the original one
};

struct Evaluated {
  std::vector<topdown::ScoredTask> tasks;
  std::vector<topdown::Evaluation>
      evaluations;  // the reference comes first, unless it is one of `targets`
  std::vector<topdown::EvalComparison> comparisons;  // with the reference, if there is one
  // With `unquantized`: on the first target, if nothing failed.
  std::optional<topdown::QuantizationCost> cost;
  bool passed = true;  // all logits are finite, and agree with the reference
};

// Throws, also for options that do not fit together.
Evaluated evaluate(const EvaluateCommand& command, const CommandHooks& hooks = {});

}  // namespace tapml::app
