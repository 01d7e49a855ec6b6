// Runs of the demo model.
#pragma once

#include "support/program.h"

namespace tapml::testing {

inline ProgramResult generate(const std::string& target) {
  return run_program({"run", kDemoModel, "--target", target, "--prompt", "In the beginning",
                      "--max-tokens", "24", "--json"});
}

}  // namespace tapml::testing
