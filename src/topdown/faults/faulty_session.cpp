#include "topdown/faults/faulty_session.h"

#include <algorithm>
#include <map>
#include <optional>

#include "runtime/forwarding_session.h"

namespace tapml::topdown {

namespace {

using runtime::BufferId;
using runtime::BufferRange;
using runtime::Deadline;
using runtime::KernelId;
using runtime::LaunchRequest;
using runtime::StreamId;

// Kernels have six tensors at most, and a workspace.
constexpr size_t kMostArguments = 6;

class FaultySession : public runtime::ForwardingSession {
 public:
  FaultySession(std::unique_ptr<runtime::Session> session, SessionFaults faults)
      : ForwardingSession(std::move(session)), faults_(std::move(faults)) {}

  Status allocate(BufferId id, int64_t bytes, Deadline deadline) noexcept override {
    sizes_[id] = bytes;
    return ForwardingSession::allocate(id, bytes, deadline);
  }
  void release(BufferId id) noexcept override {
    const auto uses = [&](const BufferRange& range) { return range.buffer == id; };
    if (held_ && std::ranges::any_of(held_->buffers, uses)) keep_error(run_held());
    sizes_.erase(id);
    ForwardingSession::release(id);
  }
  Status get_kernel(KernelId id, runtime::ModuleId module, const std::string& entry,
                    Deadline deadline) noexcept override {
    entries_[id] = entry;
    return ForwardingSession::get_kernel(id, module, entry, deadline);
  }

  void release_kernel(KernelId id) noexcept override {
    if (held_ && held_->request.kernel == id) keep_error(run_held());
    entries_.erase(id);
    ForwardingSession::release_kernel(id);
  }

  Status write(StreamId stream, BufferRange to,
               std::span<const std::byte> bytes) noexcept override {
    TAPML_TRY(run_held());
    return ForwardingSession::write(stream, to, bytes);
  }
  Status write_contents(StreamId stream, std::span<const runtime::ContentWrite> contents,
                        Deadline deadline) noexcept override {
    TAPML_TRY(run_held());
    return ForwardingSession::write_contents(stream, contents, deadline);
  }
  Status copy(StreamId stream, BufferRange from, BufferRange to, int64_t size) noexcept override {
    TAPML_TRY(run_held());
    return ForwardingSession::copy(stream, from, to, size);
  }
  Status fill_zero(StreamId stream, BufferRange to, int64_t size) noexcept override {
    TAPML_TRY(run_held());
    return ForwardingSession::fill_zero(stream, to, size);
  }
  Status read(StreamId stream, BufferRange from, std::span<std::byte> bytes,
              Deadline deadline) noexcept override {
    if (!held_ || !wrong(held_->entry, FaultKind::kEarlyCompletion)) TAPML_TRY(run_held());
    return ForwardingSession::read(stream, from, bytes, deadline);
  }
  Status synchronize(StreamId stream, Deadline deadline) noexcept override {
    if (!held_ || !wrong(held_->entry, FaultKind::kEarlyCompletion)) TAPML_TRY(run_held());
    return ForwardingSession::synchronize(stream, deadline);
  }

  Status launch(StreamId stream, const LaunchRequest& request) noexcept override {
    const auto entry = entries_.find(request.kernel);
    if (faults_->empty() || entry == entries_.end()) {
      TAPML_TRY(run_held());
      return ForwardingSession::launch(stream, request);
    }
    Launch next{entry->second,
                stream,
                request,
                {request.buffers.begin(), request.buffers.end()},
                {request.scalars.begin(), request.scalars.end()},
                {request.shared.begin(), request.shared.end()}};
    if (wrong(next.entry, FaultKind::kLostLaunch) && ++launches_[next.entry] % 3 == 0) return {};
    bind_stale(next);
    // Runs before the work it should wait for, but still waits for its own launches.
    if (held_ && wrong(next.entry, FaultKind::kMissingWait) &&
        !wrong(held_->entry, FaultKind::kMissingWait)) {
      TAPML_TRY(forward(next));
      return run_held();
    }
    TAPML_TRY(run_held());
    held_ = std::move(next);
    return {};
  }

 private:
  struct Launch {
    std::string entry;
    StreamId stream;
    LaunchRequest request;
    std::vector<BufferRange> buffers;
    std::vector<int64_t> scalars;
    std::vector<SharedSize> shared;
  };

  const SessionFault* wrong(const std::string& entry, FaultKind kind) const noexcept {
    for (const SessionFault& fault : *faults_) {
      if (fault.kind == kind && entry.starts_with(fault.kernel)) return &fault;
    }
    return nullptr;
  }

  Status forward(const Launch& launch) noexcept {
    LaunchRequest request = launch.request;
    request.buffers = launch.buffers;
    request.scalars = launch.scalars;
    request.shared = launch.shared;
    return ForwardingSession::launch(launch.stream, request);
  }

  Status run_held() noexcept {
    if (error_) {
      Error error = std::move(*error_);
      error_.reset();
      return fail(std::move(error));
    }
    if (!held_) return {};
    const Launch launch = std::move(*held_);
    held_.reset();
    return forward(launch);
  }
  void keep_error(Status status) noexcept {
    if (!status) error_ = status.error();
  }

  // Binds the argument of the launch before, if its buffer still exists and is as large.
  void bind_stale(Launch& launch) noexcept {
    const SessionFault* fault = wrong(launch.entry, FaultKind::kStaleBinding);
    if (!fault || fault->argument >= launch.buffers.size()) return;
    BufferRange& now = launch.buffers[fault->argument];
    const BufferRange own = now;
    if (const auto before = bound_.find(launch.entry); before != bound_.end()) {
      const auto old_size = sizes_.find(before->second.buffer), size = sizes_.find(now.buffer);
      if (old_size != sizes_.end() && size != sizes_.end() &&
          old_size->second - before->second.offset >= size->second - now.offset) {
        now = before->second;
      }
    }
    bound_[launch.entry] = own;
  }

  SessionFaults faults_;
  std::map<BufferId, int64_t> sizes_;
  std::map<KernelId, std::string> entries_;
  std::map<std::string, int64_t> launches_;
  std::map<std::string, BufferRange> bound_;
  std::optional<Launch> held_;  // enqueued, but not yet forwarded
  std::optional<Error> error_;
};

}  // namespace

Platform with_session_faults(Platform platform, SessionFaults faults) {
  if (!platform.open) return platform;
  auto open = std::move(platform.open);
  platform.open = [open = std::move(open),
                   faults = std::move(faults)]() -> std::unique_ptr<runtime::Session> {
    return std::make_unique<FaultySession>(open(), faults);
  };
  return platform;
}

size_t session_sites(FaultKind kind) {
  return kind == FaultKind::kStaleBinding ? kMostArguments : 1;
}

}  // namespace tapml::topdown
