// What a server's session stands on: the channel, and whoever looks after it while the session
// works.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "rpc/session/channel.h"
#include "runtime/lock.h"

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
    const runtime::LockGuard guard(calls_);
    calling_ = request;
    interrupt_.store(cancelled || all_cancelled_ || std::ranges::count(cancelled_, request) > 0);
    // Requests are in order: what came before is over.
    std::erase_if(cancelled_, [&](uint64_t one) { return one <= request; });
    return &interrupt_;
  }
  void end_call() noexcept {
    const runtime::LockGuard guard(calls_);
    calling_ = 0;
  }

 protected:
  // Any thread.
  void cancel(uint64_t request) noexcept {
    const runtime::LockGuard guard(calls_);
    if (calling_ == request) {
      interrupt_.store(true);
    } else if (cancelled_.size() < kMostCancelled) {
      cancelled_.push_back(request);
    }
  }
  void cancel_all() noexcept {
    const runtime::LockGuard guard(calls_);
    all_cancelled_ = true;
    interrupt_.store(true);
  }

  Channel& channel_;

 private:
  // Calls that are cancelled before they begin: of a client's threads, one each.
  static constexpr size_t kMostCancelled = 1024;

  runtime::Lock calls_;  // guards these
  uint64_t calling_ = 0;
  std::vector<uint64_t> cancelled_;
  bool all_cancelled_ = false;

  std::atomic<bool> interrupt_{false};
};

}  // namespace tapml::rpc
