// The command behind `tapml eval`: evaluates a model on tasks.
#pragma once

#include "abi/platforms.h"
#include "app/chat.h"
#include "app/commands/choices.h"
#include "topdown/evaluate/program_task.h"
#include "topdown/results/evaluation.h"

namespace tapml::app {

struct EvaluateCommand {
  ModelOptions model;  // its platform is each of `targets` in turn
  std::vector<PlatformChoice> targets;
  std::string tasks;                      // a file (docs/cli.md, eval)
  std::optional<std::string> tasks_text;  // its content, if the caller has it
  std::string reference;                  // target that the others are compared with; empty: none
  std::optional<size_t> reference_index;  // the same as one of `targets`, which may be equal
  bool unquantized = false;               // compares the quantized model with the original one
  topdown::ProgramOptions programs;       // for tasks that are programs
  ChatOptions chat;                       // with programs.chat
};

// Throws, also for options that do not fit together.
topdown::Evaluated evaluate(const EvaluateCommand& command, const CommandHooks& hooks = {});

}  // namespace tapml::app
