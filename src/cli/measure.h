// tapml devices --measure.
#pragma once

#include <string>

#include "cli/command.h"

namespace tapml::cli {

// Streaming and arithmetic of a platform at their best, measured now: a line, and "ceilings" of
// `json`.
void measure_ceilings(const std::string& platform, const Output& output, Json& json);

}  // namespace tapml::cli
