// The subcommands of tapml fuzz about findings.
#pragma once

#include <memory>

#include "cli/command.h"
#include "fuzz/oracles/oracles.h"

namespace tapml::cli {

void add_fuzz_findings(CLI::App& fuzz, const Registration& registration);

// What runs generated programs on this computer.
fuzz::Devices fuzz_devices();

}  // namespace tapml::cli
