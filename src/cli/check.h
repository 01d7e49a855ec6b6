// tapml devices --check.
#pragma once

#include <string>

#include "cli/command.h"

namespace tapml::cli {

// The platform's checks: a line each, "checks" and "passed" of `json`; true where all passed.
bool check_platform(const std::string& platform, const Output& output, Json& json);

}  // namespace tapml::cli
