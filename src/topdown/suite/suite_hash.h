// Digests of suites and weights.
#pragma once

#include <map>
#include <string>

#include "topdown/suite/suite.h"

namespace tapml::topdown {

// Of kernels, calls and the contents of their tensors; of weights by name.
std::string suite_hash(const Suite& suite);
std::string weights_hash(const std::map<std::string, HostTensor>& weights);

}  // namespace tapml::topdown
