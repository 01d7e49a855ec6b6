// A Session that wraps another one and forwards every method that a subclass does not override.
#pragma once

#include <memory>
#include <utility>

#include "runtime/session.h"

namespace tapml::runtime {

class ForwardingSession : public Session {
 public:
  explicit ForwardingSession(std::unique_ptr<Session> session) : session_(std::move(session)) {}

  const DeviceInfo& info() const noexcept override { return session_->info(); }
  void set_interrupt(std::function<bool()> interrupted) noexcept override {
    session_->set_interrupt(std::move(interrupted));
  }

  const WorkWatcher& watcher() const noexcept override { return session_->watcher(); }

  Status allocate(BufferId id, int64_t bytes, Deadline deadline) noexcept override {
    return session_->allocate(id, bytes, deadline);
  }
  void release(BufferId id) noexcept override { session_->release(id); }
  Status load_module(ModuleId id, const ModuleBlob& blob, Deadline deadline) noexcept override {
    return session_->load_module(id, blob, deadline);
  }
  void unload_module(ModuleId id) noexcept override { session_->unload_module(id); }
  Status get_kernel(KernelId id, ModuleId module, const std::string& entry,
                    Deadline deadline) noexcept override {
    return session_->get_kernel(id, module, entry, deadline);
  }
  void release_kernel(KernelId id) noexcept override { session_->release_kernel(id); }
  Status create_stream(StreamId id) noexcept override { return session_->create_stream(id); }
  void destroy_stream(StreamId id) noexcept override { session_->destroy_stream(id); }

  Status write(StreamId stream, BufferRange to,
               std::span<const std::byte> bytes) noexcept override {
    return session_->write(stream, to, bytes);
  }
  Status write_contents(StreamId stream, std::span<const ContentWrite> contents,
                        Deadline deadline) noexcept override {
    return session_->write_contents(stream, contents, deadline);
  }
  Status copy(StreamId stream, BufferRange from, BufferRange to, int64_t size) noexcept override {
    return session_->copy(stream, from, to, size);
  }
  Status fill_zero(StreamId stream, BufferRange to, int64_t size) noexcept override {
    return session_->fill_zero(stream, to, size);
  }
  Status launch(StreamId stream, const LaunchRequest& request) noexcept override {
    return session_->launch(stream, request);
  }
  Status record(StreamId stream, EventId event) noexcept override {
    return session_->record(stream, event);
  }
  Status wait_event(StreamId stream, EventId event) noexcept override {
    return session_->wait_event(stream, event);
  }

  Status read(StreamId stream, BufferRange from, std::span<std::byte> bytes,
              Deadline deadline) noexcept override {
    return session_->read(stream, from, bytes, deadline);
  }
  Status synchronize(StreamId stream, Deadline deadline) noexcept override {
    return session_->synchronize(stream, deadline);
  }

  Status start_trace() noexcept override { return session_->start_trace(); }
  Result<std::vector<TraceEvent>> take_trace() noexcept override { return session_->take_trace(); }

  Result<Snapshot> snapshot() noexcept override { return session_->snapshot(); }
  Status restore(const Snapshot& snapshot) noexcept override {
    contents_replaced();
    return session_->restore(snapshot);
  }

 protected:
  Session& session() noexcept { return *session_; }

 private:
  std::unique_ptr<Session> session_;
};

}  // namespace tapml::runtime
