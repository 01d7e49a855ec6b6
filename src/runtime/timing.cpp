#include "runtime/timing.h"

#include "runtime/trace.h"

namespace tapml::runtime {

Status TimingObserver::before(const KernelCall&) noexcept {
  start_ = trace_now();
  return {};
}

Status TimingObserver::after(const KernelCall& call) noexcept {
  const int64_t end = trace_now();
  return sink_.timed({call.site.id,
                      call.sequence,
                      {call.scalars.begin(), call.scalars.end()},
                      start_,
                      end - start_});
}

}  // namespace tapml::runtime
