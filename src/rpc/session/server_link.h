// What a server's session stands on: the channel, and whoever looks after it while the session
// works.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "rpc/session/channel.h"
#include "rpc/session/condition.h"
#include "rpc/session/server_session.h"
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
    TAPML_TRY(channel_.receive(head, payload_bytes, deadline));
    arrived_ = Clock::now();
    return {};
  }
  // When the frame that was received last came.
  Clock::time_point arrived() const noexcept { return arrived_; }
  virtual Status receive_payload(std::span<std::byte> to, runtime::Deadline deadline) noexcept {
    return channel_.receive_payload(to, deadline);
  }
  virtual Status send(std::span<const std::byte> head, std::span<const std::byte> payload,
                      runtime::Deadline deadline) noexcept {
    return channel_.send(head, payload, deadline);
  }
  int wake_fd() const noexcept { return channel_.wake_fd(); }
  // Between these the device works: heartbeats go out and cancels are looked for.
  virtual void begin_work() noexcept {}
  virtual void end_work() noexcept {}
  // Looks for a cancel at once, where that is possible without a wait.
  virtual void look() noexcept {}
  // A request that a cancel may end.
  void begin_request(uint64_t request) noexcept {
    const runtime::LockGuard guard(requests_);
    running_ = request;
    done_.store(0);
    total_.store(0);
    interrupt_.store(all_cancelled_ || std::ranges::count(cancelled_, request) > 0);
    // Requests are in order: what came before is over.
    std::erase_if(cancelled_, [&](uint64_t one) { return one <= request; });
  }
  void end_request() noexcept {
    const runtime::LockGuard guard(requests_);
    running_ = 0;
    interrupt_.store(all_cancelled_);
  }
  // How much of the request that runs is done, for heartbeats: see wire::Heartbeat.
  std::atomic<int64_t>& done() noexcept { return done_; }
  void report(int64_t done, int64_t total) noexcept {
    done_.store(done);
    total_.store(total);
  }
  // Whether the request that runs was cancelled: for whoever works at it.
  const std::atomic<bool>& interrupt() const noexcept { return interrupt_; }

 protected:
  // Any thread.
  void cancel(uint64_t request) noexcept {
    const runtime::LockGuard guard(requests_);
    if (running_ == request) {
      interrupt_.store(true);
    } else if (cancelled_.size() < kMostCancelled) {
      cancelled_.push_back(request);
    }
  }
  void cancel_all() noexcept {
    const runtime::LockGuard guard(requests_);
    all_cancelled_ = true;
    interrupt_.store(true);
  }

  // Any thread.
  std::vector<std::byte> heartbeat_frame() noexcept {
    const runtime::LockGuard guard(requests_);
    return encode_heartbeat(running_, done_.load(), total_.load());
  }

  Channel& channel_;
  Clock::time_point arrived_ = Clock::now();

 private:
  // Requests that are cancelled before they begin: of a client's threads, one each.
  static constexpr size_t kMostCancelled = 1024;

  runtime::Lock requests_;  // guards these
  uint64_t running_ = 0;
  std::vector<uint64_t> cancelled_;
  bool all_cancelled_ = false;

  std::atomic<bool> interrupt_{false};
  std::atomic<int64_t> done_{0}, total_{0};
};

}  // namespace tapml::rpc
