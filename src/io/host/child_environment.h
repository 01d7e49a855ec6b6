// The environment for child processes.
#pragma once

#include <vector>

namespace tapml {

// The variables of this process ("NAME=value", null-terminated) except those that hold a secret
// (TAPML_RPC_TOKEN). Valid until this process changes its environment.
std::vector<char*> child_environment();

}  // namespace tapml
