// tapml devices --measure.
#pragma once

#include "cli/command.h"

namespace tapml::cli {

// Measures a device's peak streaming and arithmetic rates: prints a line, and sets "ceilings" of
// `json`.
void measure_ceilings(runtime::Session& session, const target::Target& target, const Output& output,
                      Json& json);

}  // namespace tapml::cli
