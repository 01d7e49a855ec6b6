// The environment of the programs that this one starts.
#pragma once

#include <vector>

namespace tapml {

// The variables of this process ("NAME=value", then null) without those that hold a secret
// (TAPML_RPC_TOKEN). Valid until this process changes its environment.
std::vector<char*> child_environment();

}  // namespace tapml
