// What carving adds to a run.
#pragma once

#include <functional>

#include "exec/executable.h"
#include "runtime/call_point.h"

namespace tapml::bench {

struct CarvingCost {
  double seconds = 0;     // that it adds
  double over_bound = 0;  // over what it may add: 20 us a call and 1 GB/s of new bytes
};

// Of `run`, which returns its seconds, on `calls` of the executable's machine: once without and
// once with carving.
CarvingCost carving_cost(const Executable& executable, runtime::CallPoint& calls,
                         const std::function<double()>& run);

}  // namespace tapml::bench
