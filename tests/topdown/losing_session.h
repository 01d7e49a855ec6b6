// A device that is lost on purpose.
#pragma once

#include <memory>

#include "support/sessions.h"

namespace tapml::topdown {

// The cpu's, until so many kernels were launched.
class LosingSession : public runtime::Session {
 public:
  explicit LosingSession(int launches) : left_(launches) {}

  const DeviceInfo& info() const noexcept override { return inner_->info(); }
  Status allocate(runtime::BufferId id, int64_t bytes) noexcept override {
    return inner_->allocate(id, bytes);
  }
  void release(runtime::BufferId id) noexcept override { inner_->release(id); }
  Status load_module(runtime::ModuleId id, const ModuleBlob& blob) noexcept override {
    return inner_->load_module(id, blob);
  }
  void unload_module(runtime::ModuleId id) noexcept override { inner_->unload_module(id); }
  Status get_kernel(runtime::KernelId id, runtime::ModuleId module,
                    const std::string& entry) noexcept override {
    return inner_->get_kernel(id, module, entry);
  }
  Status create_stream(runtime::StreamId id) noexcept override { return inner_->create_stream(id); }
  void destroy_stream(runtime::StreamId id) noexcept override { inner_->destroy_stream(id); }
  Status write(runtime::StreamId stream, runtime::BufferRange to,
               std::span<const std::byte> bytes) noexcept override {
    return inner_->write(stream, to, bytes);
  }
  Status copy(runtime::StreamId stream, runtime::BufferRange from, runtime::BufferRange to,
              int64_t size) noexcept override {
    return inner_->copy(stream, from, to, size);
  }
  Status fill_zero(runtime::StreamId stream, runtime::BufferRange to,
                   int64_t size) noexcept override {
    return inner_->fill_zero(stream, to, size);
  }
  Status launch(runtime::StreamId stream, const runtime::LaunchRequest& request) noexcept override {
    if (left_-- <= 0) return fail(platform_error(PlatformFault::kLost, "the device is lost"));
    return inner_->launch(stream, request);
  }
  Status record(runtime::StreamId stream, runtime::EventId event) noexcept override {
    return inner_->record(stream, event);
  }
  Status wait_event(runtime::StreamId stream, runtime::EventId event) noexcept override {
    return inner_->wait_event(stream, event);
  }
  Status read(runtime::StreamId stream, runtime::BufferRange from, std::span<std::byte> bytes,
              runtime::Deadline deadline) noexcept override {
    return inner_->read(stream, from, bytes, deadline);
  }
  Status synchronize(runtime::StreamId stream, runtime::Deadline deadline) noexcept override {
    return inner_->synchronize(stream, deadline);
  }
  Result<Snapshot> snapshot() noexcept override { return inner_->snapshot(); }
  Status restore(const Snapshot& snapshot) noexcept override { return inner_->restore(snapshot); }

 private:
  std::unique_ptr<runtime::Session> inner_ = testing::open_session("cpu");
  int left_;
};

}  // namespace tapml::topdown
