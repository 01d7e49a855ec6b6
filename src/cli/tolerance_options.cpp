#include "cli/tolerance_options.h"

#include <CLI/CLI.hpp>

namespace tapml::cli {

void ToleranceOptions::add_to(CLI::App& command) {
  command.add_option("--tolerance", file,
                     "JSON file that widens the bounds of kernels, each with a reason");
}

}  // namespace tapml::cli
