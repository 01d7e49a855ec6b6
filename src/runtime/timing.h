// Measures the time of each kernel call of a run.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/call_point.h"

namespace tapml::runtime {

struct TimedCall {
  int32_t site = 0;  // index of the call site in the executable
  int64_t sequence = 0;
  std::vector<int64_t> scalars;
  // Nanoseconds of this process's steady clock, measured next to the device.
  int64_t start = 0, duration = 0;
};

// Receives the times, in call order. Not thread-safe.
class TimingSink {
 public:
  virtual ~TimingSink() = default;
  virtual Status timed(const TimedCall& call) noexcept = 0;
};

// Observes a call point for a sink. It waits for every call, so that each time covers one call:
// their sum is the device's compute time, and less than the run, which is slower when timed.
class TimingObserver final : public Observer {
 public:
  // Must outlive the observer.
  explicit TimingObserver(TimingSink& sink) : sink_(sink) {}

  bool wants(const CallSite&, int64_t) noexcept override { return true; }
  Status before(const KernelCall& call) noexcept override;
  Status after(const KernelCall& call) noexcept override;

 private:
  TimingSink& sink_;
  int64_t start_ = 0;  // of the current call
};

}  // namespace tapml::runtime
