// The commands that a page shows repeat the options of the one that made it.
#pragma once

#include "app/command_options.h"

namespace tapml::cli {

// What `migrate` and `localize` share.
template <class Command>
topdown::CommandOptions page_options(const Command& command) {
  topdown::CommandOptions options =
      app::command_options(command.libraries, command.remote, command.isolation);
  options.quantize = command.quantize;
  options.max_tokens = command.max_tokens;
  options.sampler = command.sampler;
  options.patterns = command.patterns.file;
  options.kernels = command.custom_kernels;
  options.tolerance = command.tolerance.file;
  return options;
}

}  // namespace tapml::cli
