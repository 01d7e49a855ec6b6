// The text that a command gives a model: an option, a file or the standard input.
#pragma once

#include <string>

#include "cli/command.h"

namespace tapml::cli {

struct PromptOptions {
  std::string text;  // "-": the standard input
  std::string file;

  // A line break at the end of a file or of the standard input is left out. UserError for a file
  // that cannot be read, and for more than 1 GiB.
  std::string read() const;
};

// --prompt and --prompt-file, of which one is required unless features are given.
void add_options(CLI::App& command, PromptOptions& options);

}  // namespace tapml::cli
