// Paths of externally computed expected values.
#pragma once

#include <cstdlib>
#include <string>

namespace tapml::testing {

// A file or folder of tests/golden, or of the folder TAPML_GOLDEN in the environment, which holds
// freshly computed values (make test-torch).
inline std::string golden_path(const std::string& name) {
  const char* folder = std::getenv("TAPML_GOLDEN");
  return (folder ? std::string(folder) : std::string(TAPML_SOURCE_DIR) + "/tests/golden") + "/" +
         name;
}

}  // namespace tapml::testing
