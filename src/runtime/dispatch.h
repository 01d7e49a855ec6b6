// Dispatches some calls of a run to something other than its VM. The plan is data, so it can be
// sent to a remote VM; the dispatcher that computes the calls stays local.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/call_point.h"

namespace tapml::runtime {

struct DispatchPlan {
  // Dispatched call sites, by index in the executable.
  std::vector<int32_t> sites;
};

// Whether calls are dispatched, by call site. UserError for a site that the executable lacks.
Result<std::vector<bool>> dispatched_sites(const Executable& executable,
                                           const DispatchPlan& plan) noexcept;

class Dispatcher {
 public:
  virtual ~Dispatcher() = default;
  // Computes the call on the VM's tensors: when it returns, all enqueued work on them leaves them
  // as the kernel would have. Its error ends the run.
  virtual Status call(const CallSite& site, Arguments args,
                      std::span<const int64_t> scalars) noexcept = 0;
};

}  // namespace tapml::runtime
