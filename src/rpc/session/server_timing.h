// Times the kernel calls of a VM, for its client.
#pragma once

#include "rpc/session/server_calls.h"
#include "runtime/timing.h"

namespace tapml::rpc {

// For one call of a VM. Times are sent in batches, so that sending hardly affects what is measured.
class CallService::Timing final : public runtime::TimingSink {
 public:
  explicit Timing(CallService& calls) : calls_(calls), observer_(*this) {}
  runtime::Observer& observer() { return observer_; }
  Status timed(const runtime::TimedCall& call) noexcept override;
  // Sends the times that are not sent yet.
  Status flush() noexcept;

 private:
  CallService& calls_;
  runtime::TimingObserver observer_;
  std::vector<runtime::TimedCall> times_;
};

}  // namespace tapml::rpc
