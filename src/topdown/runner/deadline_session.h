// A Session whose waits end, for kernels that may never end.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>

#include "runtime/forwarding_session.h"

namespace tapml::topdown {

// Forwards everything to a remote session. A wait without a deadline of its own fails with kTimeout
// if the launches since the last wait, at most kMostKernels of them, take longer than `kernel`
// each, and with kCancelled soon after `cancelled` returns true.
class DeadlineSession final : public runtime::ForwardingSession {
 public:
  static constexpr int64_t kMostKernels = 10;

  DeadlineSession(std::unique_ptr<runtime::Session> session, std::chrono::milliseconds kernel,
                  std::function<bool()> cancelled)
      : ForwardingSession(std::move(session)), kernel_(kernel), cancelled_(std::move(cancelled)) {
    // Modules and uploads can be cancelled, too.
    if (cancelled_) set_interrupt(cancelled_);
  }

  Status launch(runtime::StreamId stream, const runtime::LaunchRequest& request) noexcept override;
  Status read(runtime::StreamId stream, runtime::BufferRange from, std::span<std::byte> bytes,
              runtime::Deadline deadline) noexcept override;
  Status synchronize(runtime::StreamId stream, runtime::Deadline deadline) noexcept override;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point limit() const noexcept;
  // Succeeds once all work of the stream is done.
  Status finish(runtime::StreamId stream, Clock::time_point limit) noexcept;

  const std::chrono::milliseconds kernel_;
  std::function<bool()> cancelled_;
  std::atomic<int64_t> launches_{0};  // since the last wait
};

}  // namespace tapml::topdown
