// How often a kernel is launched for a verdict.
#pragma once

#include <cstdint>

namespace tapml::topdown {

// How a kernel is launched for a verdict.
struct ReplayOptions {
  // So often at least, over its calls: each once, then all of them again in another order, and so
  // on. Between them other kernels run that are known to be right, where the suite has calls of
  // them.
  int64_t launches = 20;
  uint64_t seed = 0;  // of the orders
  // What more launches than one a call may take, or half as long as those one a call took, judged.
  double seconds = 0.25;
};

}  // namespace tapml::topdown
