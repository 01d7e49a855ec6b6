// Merges suites of one model and one source.
#pragma once

#include <string>
#include <vector>

#include "topdown/suite/suite.h"

namespace tapml::topdown {

// The kernels and tests (calls and groups) of all suites, each once. Positions in the run continue
// from suite to suite. A weight that one of them contains is contained. The result is incomplete if
// one of them is, and untested in it are the kernels that none of them tests. UserError, which
// names the suite by `names`, for another fusion policy, source or model, for a kernel with another
// specification, and for references to weights that are not in one model.
Suite merge(const std::vector<Suite>& suites, const std::vector<std::string>& names);

}  // namespace tapml::topdown
