#include "topdown/runner/deadline_session.h"

#include <algorithm>
#include <cstdio>

namespace tapml::topdown {

using runtime::BufferRange;
using runtime::Deadline;
using runtime::StreamId;

namespace {

// The time between two checks whether the wait was cancelled.
constexpr std::chrono::milliseconds kSlice{500};

bool timed_out(const Status& status) {
  return !status && status.error().fault == PlatformFault::kTimeout;
}

}  // namespace

Status DeadlineSession::launch(StreamId stream, const runtime::LaunchRequest& request) noexcept {
  ++launches_;
  return session().launch(stream, request);
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
                                 "set another limit with --kernel-timeout"));
    }
    Status status = session().synchronize(stream, std::min(limit, now + kSlice));
    if (timed_out(status)) continue;
    launches_ = 0;
    return status;
  }
}

Status DeadlineSession::synchronize(StreamId stream, Deadline deadline) noexcept {
  if (deadline) return session().synchronize(stream, deadline);
  return finish(stream, limit());
}

Status DeadlineSession::read(StreamId stream, BufferRange from, std::span<std::byte> bytes,
                             Deadline deadline) noexcept {
  if (deadline) return session().read(stream, from, bytes, deadline);
  const Clock::time_point end = limit();
  // One request is enough if nothing takes long.
  Status status = session().read(stream, from, bytes, std::min(end, Clock::now() + kSlice));
  if (timed_out(status)) {
    if (Status done = finish(stream, end); !done) return done;
    // Only the transfer of the bytes is left.
    status = session().read(stream, from, bytes);
  }
  if (!timed_out(status)) launches_ = 0;
  return status;
}

}  // namespace tapml::topdown
