#include "io/host/child_environment.h"

#include <string_view>

// NOLINTNEXTLINE(readability-redundant-declaration): POSIX declares it nowhere
extern char** environ;

namespace tapml {

std::vector<char*> child_environment() {
  std::vector<char*> kept;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("TAPML_RPC_TOKEN=")) kept.push_back(*variable);
  }
  kept.push_back(nullptr);
  return kept;
}

}  // namespace tapml
