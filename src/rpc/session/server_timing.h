// Times of the kernel calls of a machine, for its client.
#pragma once

#include "rpc/session/server_core.h"
#include "runtime/timing.h"

namespace tapml::rpc {

// Of one call of a machine. They are sent many together, so that sending takes little of what is
// measured.
class ServerCore::Timing final : public runtime::TimingSink {
 public:
  explicit Timing(ServerCore& core) : core_(core), observer_(*this) {}
  runtime::Observer& observer() { return observer_; }
  Status timed(const runtime::TimedCall& call) noexcept override;
  // Sends those that have not been.
  Status flush() noexcept;

 private:
  ServerCore& core_;
  runtime::TimingObserver observer_;
  std::vector<runtime::TimedCall> calls_;
};

}  // namespace tapml::rpc
