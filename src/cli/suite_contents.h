// What is in suites of carved tests.
#pragma once

#include <string>

#include "cli/command.h"

namespace tapml::cli {

// Counts and, where the files are there, bytes: nothing is read but suite.json. Returns the exit
// code.
int list_suite(const std::string& folder, const Output& output);
// The specification and the tests of the one kernel that `wanted` means; `model`: its directory
// where weights by reference have moved, or empty.
int show_suite_kernel(const std::string& folder, const std::string& model,
                      const std::string& wanted, const Output& output);

}  // namespace tapml::cli
