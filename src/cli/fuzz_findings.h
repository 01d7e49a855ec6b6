// The subcommands of tapml fuzz about findings.
#pragma once

#include <memory>

#include "cli/command.h"
#include "fuzz/oracles/oracles.h"

namespace tapml::cli {

void add_fuzz_findings(CLI::App& fuzz, const Registration& registration);

// Opens sessions of this computer for generated programs.
fuzz::SessionOpener fuzz_sessions();

}  // namespace tapml::cli
