// Where expected values from outside are.
#pragma once

#include <cstdlib>
#include <string>

namespace tapml::testing {

// A file or folder of tests/golden, or of the folder in the environment's TAPML_GOLDEN, which holds
// values that were made just now (make test-torch).
inline std::string golden_path(const std::string& name) {
  const char* folder = std::getenv("TAPML_GOLDEN");
  return (folder ? std::string(folder) : std::string(TAPML_SOURCE_DIR) + "/tests/golden") + "/" +
         name;
}

}  // namespace tapml::testing
