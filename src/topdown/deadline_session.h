// A Session whose waits end: for kernels of which nobody knows yet whether they do.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>

#include "runtime/session.h"

namespace tapml::topdown {

// Passes everything on to a session elsewhere. A wait without a deadline of its own fails with
// kTimeout when the launches since the last wait take longer than `kernel` each, at most
// kMostKernels of them; and with kCancelled soon after `cancelled` says so.
class DeadlineSession final : public runtime::Session {
 public:
  static constexpr int64_t kMostKernels = 10;

  DeadlineSession(std::unique_ptr<runtime::Session> session, std::chrono::milliseconds kernel,
                  std::function<bool()> cancelled)
      : session_(std::move(session)), kernel_(kernel), cancelled_(std::move(cancelled)) {}

  const DeviceInfo& info() const noexcept override { return session_->info(); }

  Status allocate(runtime::BufferId id, int64_t bytes) noexcept override;
  void release(runtime::BufferId id) noexcept override { session_->release(id); }
  Status load_module(runtime::ModuleId id, const ModuleBlob& blob) noexcept override;
  void unload_module(runtime::ModuleId id) noexcept override { session_->unload_module(id); }
  Status get_kernel(runtime::KernelId id, runtime::ModuleId module,
                    const std::string& entry) noexcept override;
  Status create_stream(runtime::StreamId id) noexcept override;
  void destroy_stream(runtime::StreamId id) noexcept override { session_->destroy_stream(id); }

  Status write(runtime::StreamId stream, runtime::BufferRange to,
               std::span<const std::byte> bytes) noexcept override;
  Status write_contents(runtime::StreamId stream,
                        std::span<const runtime::ContentWrite> contents) noexcept override;
  Status copy(runtime::StreamId stream, runtime::BufferRange from, runtime::BufferRange to,
              int64_t size) noexcept override;
  Status fill_zero(runtime::StreamId stream, runtime::BufferRange to,
                   int64_t size) noexcept override;
  Status launch(runtime::StreamId stream, const runtime::LaunchRequest& request) noexcept override;
  Status record(runtime::StreamId stream, runtime::EventId event) noexcept override;
  Status wait_event(runtime::StreamId stream, runtime::EventId event) noexcept override;

  Status read(runtime::StreamId stream, runtime::BufferRange from, std::span<std::byte> bytes,
              runtime::Deadline deadline) noexcept override;
  Status synchronize(runtime::StreamId stream, runtime::Deadline deadline) noexcept override;

  Status start_trace() noexcept override { return session_->start_trace(); }
  Result<std::vector<runtime::TraceEvent>> take_trace() noexcept override {
    return session_->take_trace();
  }

  Result<Snapshot> snapshot() noexcept override { return session_->snapshot(); }
  Status restore(const Snapshot& snapshot) noexcept override;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point limit() const noexcept;
  // Ends well once all work of the stream is done.
  Status finish(runtime::StreamId stream, Clock::time_point limit) noexcept;

  std::unique_ptr<runtime::Session> session_;
  const std::chrono::milliseconds kernel_;
  std::function<bool()> cancelled_;
  std::atomic<int64_t> launches_{0};  // since the last wait
};

}  // namespace tapml::topdown
