// tapml fuzz external: random programs against another compiler.
#pragma once

#include "cli/command.h"

namespace tapml::cli {

void add_fuzz_external(CLI::App& fuzz, const Registration& registration);

}  // namespace tapml::cli
