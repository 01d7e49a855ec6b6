// The subcommands of tapml fuzz about a folder of findings.
#pragma once

#include "cli/command.h"

namespace tapml::cli {

void add_fuzz_triage(CLI::App& fuzz, const Registration& registration);

}  // namespace tapml::cli
