// Judges the import of a model by its published implementation: what `--trust torch` does first.
#pragma once

#include "app/commands/choices.h"
#include "topdown/reference_run/import_check.h"

namespace tapml::app {

struct CheckImportCommand {
  std::string model;   // model directory
  std::string prompt;  // its first tokens are compared; may be empty
  std::string python;  // with PyTorch and transformers; empty: python3
};

// The model in its default precision and without quantization, whatever the command that follows
// chooses: the published implementation has neither choice. UserError for an executable or a
// package, whose import was done when they were compiled; throws like topdown::compare_import().
topdown::ImportCheck check_import(const CheckImportCommand& command,
                                  const CommandHooks& hooks = {});

}  // namespace tapml::app
