// How long the kernel calls of a run take, one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/call_point.h"

namespace tapml::runtime {

struct TimedCall {
  int32_t site = 0;  // number of the call site in the executable
  int64_t sequence = 0;
  std::vector<int64_t> scalars;
  // Nanoseconds of this process's steady clock, measured beside the device.
  int64_t start = 0, duration = 0;
};

// Takes what is timed, in the order of the calls. Not from several threads at once.
class TimingSink {
 public:
  virtual ~TimingSink() = default;
  virtual Status timed(const TimedCall& call) noexcept = 0;
};

// Observes a call point for a sink. Every call is waited for, so that each one's time is its own:
// their sum is what the device computes, and less than the run, which is slower than without it.
class TimingObserver final : public Observer {
 public:
  // It outlives the observer.
  explicit TimingObserver(TimingSink& sink) : sink_(sink) {}

  bool wants(const CallSite&, int64_t) noexcept override { return true; }
  Status before(const KernelCall& call) noexcept override;
  Status after(const KernelCall& call) noexcept override;

 private:
  TimingSink& sink_;
  int64_t start_ = 0;  // of the call at hand
};

}  // namespace tapml::runtime
