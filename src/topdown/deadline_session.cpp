#include "topdown/deadline_session.h"

#include <algorithm>
#include <cstdio>

namespace tapml::topdown {

using runtime::BufferId;
using runtime::BufferRange;
using runtime::Deadline;
using runtime::EventId;
using runtime::KernelId;
using runtime::ModuleId;
using runtime::StreamId;

namespace {

// Between two looks at whether the wait was cancelled.
constexpr std::chrono::milliseconds kSlice{500};

bool timed_out(const Status& status) {
  return !status && status.error().fault == PlatformFault::kTimeout;
}

}  // namespace

Status DeadlineSession::allocate(BufferId id, int64_t bytes) noexcept {
  return session_->allocate(id, bytes);
}
Status DeadlineSession::load_module(ModuleId id, const ModuleBlob& blob) noexcept {
  return session_->load_module(id, blob);
}
Status DeadlineSession::get_kernel(KernelId id, ModuleId module,
                                   const std::string& entry) noexcept {
  return session_->get_kernel(id, module, entry);
}
Status DeadlineSession::create_stream(StreamId id) noexcept { return session_->create_stream(id); }
Status DeadlineSession::write(StreamId stream, BufferRange to,
                              std::span<const std::byte> bytes) noexcept {
  return session_->write(stream, to, bytes);
}
Status DeadlineSession::write_contents(StreamId stream,
                                       std::span<const runtime::ContentWrite> contents) noexcept {
  return session_->write_contents(stream, contents);
}
Status DeadlineSession::copy(StreamId stream, BufferRange from, BufferRange to,
                             int64_t size) noexcept {
  return session_->copy(stream, from, to, size);
}
Status DeadlineSession::fill_zero(StreamId stream, BufferRange to, int64_t size) noexcept {
  return session_->fill_zero(stream, to, size);
}
Status DeadlineSession::launch(StreamId stream, const runtime::LaunchRequest& request) noexcept {
  ++launches_;
  return session_->launch(stream, request);
}
Status DeadlineSession::record(StreamId stream, EventId event) noexcept {
  return session_->record(stream, event);
}
Status DeadlineSession::wait_event(StreamId stream, EventId event) noexcept {
  return session_->wait_event(stream, event);
}

Status DeadlineSession::restore(const Snapshot& snapshot) noexcept {
  contents_replaced();
  return session_->restore(snapshot);
}

DeadlineSession::Clock::time_point DeadlineSession::limit() const noexcept {
  return Clock::now() + kernel_ * std::clamp(launches_.load(), int64_t{1}, kMostKernels);
}

Status DeadlineSession::finish(StreamId stream, Clock::time_point limit) noexcept {
  while (true) {
    if (cancelled_ && cancelled_()) {
      return fail(platform_error(PlatformFault::kCancelled, "interrupted"));
    }
    const Clock::time_point now = Clock::now();
    if (now >= limit) {
      char text[32];
      std::snprintf(text, sizeof text, "%g s", std::chrono::duration<double>(kernel_).count());
      return fail(platform_error(PlatformFault::kTimeout,
                                 "a kernel did not end within " + std::string(text), "",
                                 "--kernel-timeout is the limit"));
    }
    Status status = session_->synchronize(stream, std::min(limit, now + kSlice));
    if (timed_out(status)) continue;
    launches_ = 0;
    return status;
  }
}

Status DeadlineSession::synchronize(StreamId stream, Deadline deadline) noexcept {
  if (deadline) return session_->synchronize(stream, deadline);
  return finish(stream, limit());
}

Status DeadlineSession::read(StreamId stream, BufferRange from, std::span<std::byte> bytes,
                             Deadline deadline) noexcept {
  if (deadline) return session_->read(stream, from, bytes, deadline);
  const Clock::time_point end = limit();
  // One request where nothing takes long.
  Status status = session_->read(stream, from, bytes, std::min(end, Clock::now() + kSlice));
  if (timed_out(status)) {
    if (Status done = finish(stream, end); !done) return done;
    // What is left is the way of the bytes.
    status = session_->read(stream, from, bytes);
  }
  if (!timed_out(status)) launches_ = 0;
  return status;
}

}  // namespace tapml::topdown
