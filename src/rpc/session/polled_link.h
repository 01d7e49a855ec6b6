// A server's link where there is no second thread: whoever works asks it now and then.
#pragma once

#include "rpc/session/condition.h"
#include "rpc/session/server_link.h"

namespace tapml::rpc {

// poll() sends a sign of life where one is due. Work that never polls sends none, and the client
// gives such a session up: it needs no watchdog.
class PolledLink final : public ServerLink {
 public:
  PolledLink(Channel& channel, std::chrono::milliseconds heartbeat);

  Status send(std::span<const std::byte> head, std::span<const std::byte> payload,
              runtime::Deadline deadline) noexcept override;
  void begin_work() noexcept override { working_ = true; }
  void end_work() noexcept override { working_ = false; }

  // From inside of work, between two frames.
  void poll() noexcept;

 private:
  const std::chrono::milliseconds heartbeat_;
  Clock::time_point last_sent_ = Clock::now();
  bool working_ = false;
};

}  // namespace tapml::rpc
