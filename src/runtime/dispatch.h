// Calls of a run that something else than its machine computes. Which ones is data, so that it may
// travel to a machine elsewhere; who computes them stays on this side.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/call_point.h"

namespace tapml::runtime {

struct DispatchPlan {
  // Call sites whose calls go, by their number in the executable.
  std::vector<int32_t> sites;
};

// By call site: whether its calls go. UserError for a site that the executable has not.
Result<std::vector<bool>> dispatched_sites(const Executable& executable,
                                           const DispatchPlan& plan) noexcept;

class Dispatcher {
 public:
  virtual ~Dispatcher() = default;
  // Computes the call, whose tensors are the machine's: when it returns, all work on them that has
  // been enqueued leaves them as the kernel would have. Its error ends the run.
  virtual Status call(const CallSite& site, Arguments args,
                      std::span<const int64_t> scalars) noexcept = 0;
};

}  // namespace tapml::runtime
