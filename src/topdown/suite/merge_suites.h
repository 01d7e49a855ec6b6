// Suites of one model and one source become one.
#pragma once

#include <string>
#include <vector>

#include "topdown/suite/suite.h"

namespace tapml::topdown {

// The kernels and tests (calls and groups) of all, each once. Positions in the run go on from suite
// to suite. A weight that one of them has inside is inside. UserError, which names the suite by
// `names`, for another fusion policy, source or model, for a kernel with another specification,
// and for references to weights that are not in one model. What one of them lacks the result
// lacks, too: it is as incomplete, and untested is what none of them tests.
Suite merge(const std::vector<Suite>& suites, const std::vector<std::string>& names);

}  // namespace tapml::topdown
