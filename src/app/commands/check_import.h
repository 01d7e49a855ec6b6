// Checks the import of a model against its published implementation: `check-import`, and what
// `--trust torch` does first.
#pragma once

#include "app/commands/choices.h"
#include "topdown/reference_run/import_check.h"

namespace tapml::app {

struct CheckImportCommand {
  std::string model;            // model directory
  std::string prompt;           // its first tokens are compared; may be empty
  std::string python;           // with PyTorch and transformers; empty: python3
  std::vector<int32_t> tokens;  // in place of a prompt, all are compared; may be empty
  // Whether to log the warnings about the model's files. A command that goes on logs them itself.
  bool warn = false;
  std::string name;  // of the model in errors; empty: the directory
};

// A model at random weights: the configuration says everything about it.
struct CheckConfigCommand {
  std::string config;           // file: config.json
  uint64_t seed = 0;            // of the weights
  std::string python;           // as in CheckImportCommand
  std::vector<int32_t> tokens;  // likewise
};

// The model in its default precision and without quantization, whatever the command that follows
// chooses: the published implementation has neither choice. UserError for an executable or a
// package, whose import was done when they were compiled, and for tokens that the model lacks;
// throws like topdown::compare_import().
topdown::ImportCheck check_import(const CheckImportCommand& command,
                                  const CommandHooks& hooks = {});

// The same with write_random_model(), in a folder that exists only meanwhile.
topdown::ImportCheck check_import(const CheckConfigCommand& command,
                                  const CommandHooks& hooks = {});

}  // namespace tapml::app
