#include "cli/tolerance_options.h"

#include <CLI/CLI.hpp>

namespace tapml::cli {

void ToleranceOptions::add_to(CLI::App& command) {
  command.add_option("--tolerance", file,
                     "File of wider bounds for kernels, each with a reason (JSON)");
}

}  // namespace tapml::cli
