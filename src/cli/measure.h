// tapml devices --measure.
#pragma once

#include "cli/command.h"

namespace tapml::cli {

// Streaming and arithmetic of a device at their best, measured now: a line, and "ceilings" of
// `json`.
void measure_ceilings(runtime::Session& session, const target::Target& target, const Output& output,
                      Json& json);

}  // namespace tapml::cli
