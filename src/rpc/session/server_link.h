// What a server's session stands on: the channel, and whoever looks after it while the session
// works.
#pragma once

#include <atomic>
#include <vector>

#include "rpc/session/channel.h"

namespace tapml::rpc {

// Used by the one thread that serves the session. This one does nothing but pass on: without
// another thread there are no heartbeats, and a cancel is seen too late.
class ServerLink {
 public:
  explicit ServerLink(Channel& channel) : channel_(channel) {}
  virtual ~ServerLink() = default;
  ServerLink(const ServerLink&) = delete;
  ServerLink& operator=(const ServerLink&) = delete;

  // As those of Channel.
  virtual Status receive(std::vector<std::byte>& head, uint64_t& payload_bytes,
                         runtime::Deadline deadline) noexcept {
    return channel_.receive(head, payload_bytes, deadline);
  }
  virtual Status receive_payload(std::span<std::byte> to, runtime::Deadline deadline) noexcept {
    return channel_.receive_payload(to, deadline);
  }
  virtual Status send(std::span<const std::byte> head, std::span<const std::byte> payload,
                      runtime::Deadline deadline) noexcept {
    return channel_.send(head, payload, deadline);
  }
  // Between these the device works: heartbeats go out and cancels are looked for.
  virtual void begin_work() noexcept {}
  virtual void end_work() noexcept {}
  // A call that a cancel may end: what the machine looks at while it runs.
  const std::atomic<bool>* begin_call(uint64_t request, bool cancelled) noexcept {
    interrupt_.store(cancelled);
    calling_.store(request);
    if (cancelled_.load() == request) interrupt_.store(true);
    return &interrupt_;
  }
  void end_call() noexcept { calling_.store(0); }

 protected:
  // Any thread.
  void cancel(uint64_t request) noexcept {
    cancelled_.store(request);
    if (calling_.load() == request) interrupt_.store(true);
  }
  void cancel_all() noexcept { cancel(calling_.load()); }

  Channel& channel_;

 private:
  std::atomic<uint64_t> calling_{0}, cancelled_{~uint64_t{0}};
  std::atomic<bool> interrupt_{false};
};

}  // namespace tapml::rpc
