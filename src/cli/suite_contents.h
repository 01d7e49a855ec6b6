// Shows the contents of suites of carved tests.
#pragma once

#include <string>

#include "cli/command.h"

namespace tapml::cli {

// Counts and, if the files exist, bytes; only reads suite.json. Returns the exit code.
int list_suite(const std::string& folder, const Output& output);
// The specification and the tests of the one kernel that `wanted` selects; `model`: the directory
// of weights by reference if it has moved, or empty.
int show_suite_kernel(const std::string& folder, const std::string& model,
                      const std::string& wanted, const Output& output);

}  // namespace tapml::cli
