#include "rpc/session/polled_link.h"

#include <tuple>

#include "rpc/session/server_session.h"

namespace tapml::rpc {

PolledLink::PolledLink(Channel& channel, std::chrono::milliseconds heartbeat)
    : ServerLink(channel), heartbeat_(heartbeat) {}

Status PolledLink::send(std::span<const std::byte> head, std::span<const std::byte> payload,
                        runtime::Deadline deadline) noexcept {
  last_sent_ = Clock::now();
  return channel_.send(head, payload, deadline);
}

void PolledLink::poll() noexcept {
  if (!working_) return;
  const Clock::time_point now = Clock::now();
  if (now - last_sent_ < heartbeat_) return;
  // A channel that broke says so at the reply.
  std::ignore = send(heartbeat_frame(), {}, now + heartbeat_);
}

}  // namespace tapml::rpc
