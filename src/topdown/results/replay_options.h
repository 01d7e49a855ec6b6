// How often a kernel is launched for a verdict.
#pragma once

#include <cstdint>

#include "abi/allowances.h"

namespace tapml::topdown {

// How a kernel is launched for a verdict.
struct ReplayOptions {
  // The minimum over all calls of the kernel: each once, then all again in a new order, and so on.
  // In between run other kernels known to be right, if the suite has calls of them.
  int64_t launches = 20;
  uint64_t seed = 0;  // of the orders
  // The time for launches beyond one per call; half the time of the first ones with their checks,
  // if that is longer.
  double seconds = 0.25;
  // What the platform may do, where no sandbox with its target is given.
  Allowances allowances;
};

}  // namespace tapml::topdown
