// The cost that carving adds to a run.
#pragma once

#include <functional>

#include "exec/executable.h"
#include "runtime/call_point.h"

namespace tapml::bench {

struct CarvingCost {
  double seconds = 0;     // added time
  double over_bound = 0;  // over the allowance: 20 us a call and 1 GB/s of new bytes
};

// Measures `run`, which returns its seconds, on `calls` of the executable's VM instance: once
// without and once with carving.
CarvingCost carving_cost(const Executable& executable, runtime::CallPoint& calls,
                         const std::function<double()>& run);

}  // namespace tapml::bench
