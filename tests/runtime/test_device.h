// A device whose queue can wait, hang and fail on request, and that counts its requests.
#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <optional>

#include "conformance/native_kernels.h"
#include "runtime/local_session.h"

namespace tapml::test {

struct TestBehaviour {
  bool deferred = false;  // work runs at the next wait, not when it is enqueued
  bool hangs = false;     // done() is never true
  bool computes = true;   // kernels run
  bool prefers_batches = false;
  std::optional<Error> launch_error;  // of the next launch, when it runs
  int64_t fail_allocations = 0;       // for how many of the next ones
  int64_t launches = 0, writes = 0, written_bytes = 0, reads = 0, synchronizes = 0;
  int64_t allocations = 0, live_bytes = 0;
  std::vector<std::string> launched;  // entry points in execution order
  std::vector<int64_t> extents;
  std::vector<int64_t> offsets;  // of the buffers of all launches
  std::vector<size_t> batches;   // launches in each
};

class TestMemory final : public runtime::DeviceMemory {
 public:
  TestMemory(int64_t size, std::shared_ptr<TestBehaviour> behaviour)
      : bytes_(static_cast<size_t>(size) + 64), size_(size), behaviour_(std::move(behaviour)) {
    behaviour_->live_bytes += size;
  }
  ~TestMemory() override { behaviour_->live_bytes -= size_; }
  int64_t size() const noexcept override { return size_; }
  std::byte* data() { return bytes_.data(); }

 private:
  std::vector<std::byte> bytes_;
  int64_t size_;
  std::shared_ptr<TestBehaviour> behaviour_;
};

class TestKernel final : public runtime::DeviceKernel {
 public:
  explicit TestKernel(std::string entry) : entry(std::move(entry)) {}
  const std::string entry;
};

class TestModule final : public runtime::DeviceModule {
 public:
  Result<std::shared_ptr<runtime::DeviceKernel>> kernel(
      const std::string& entry) noexcept override {
    if (!find_native_kernel(entry)) return fail(internal_error("no entry " + entry));
    return std::make_shared<TestKernel>(entry);
  }
};

class TestQueue final : public runtime::DeviceQueue {
 public:
  explicit TestQueue(std::shared_ptr<TestBehaviour> behaviour) : behaviour_(std::move(behaviour)) {}

  Status write(runtime::DeviceMemory& to, int64_t offset,
               std::span<const std::byte> bytes) noexcept override {
    ++behaviour_->writes;
    behaviour_->written_bytes += static_cast<int64_t>(bytes.size());
    std::vector<std::byte> taken(bytes.begin(), bytes.end());
    return enqueue([=, data = address(to) + offset]() -> Status {
      std::memcpy(data, taken.data(), taken.size());
      return {};
    });
  }
  Status copy(runtime::DeviceMemory& from, int64_t from_offset, runtime::DeviceMemory& to,
              int64_t to_offset, int64_t size) noexcept override {
    return enqueue([=, source = address(from), target = address(to)]() -> Status {
      std::memmove(target + to_offset, source + from_offset, static_cast<size_t>(size));
      return {};
    });
  }
  Status fill_zero(runtime::DeviceMemory& to, int64_t offset, int64_t size) noexcept override {
    return enqueue([=, data = address(to) + offset]() -> Status {
      std::memset(data, 0, static_cast<size_t>(size));
      return {};
    });
  }
  Status launch(runtime::DeviceKernel& kernel, const runtime::LaunchArgs& args) noexcept override {
    ++behaviour_->launches;
    std::vector<void*> buffers;
    for (const runtime::BufferArg& buffer : args.buffers) {
      buffers.push_back(address(*buffer.memory) + buffer.offset);
      behaviour_->offsets.push_back(buffer.offset);
    }
    std::vector<int64_t> scalars(args.scalars.begin(), args.scalars.end());
    std::string entry = static_cast<TestKernel&>(kernel).entry;
    return enqueue([=, this, extent = args.extent]() -> Status {
      if (behaviour_->launch_error) {
        Error error = *behaviour_->launch_error;
        behaviour_->launch_error.reset();
        return fail(std::move(error));
      }
      behaviour_->launched.push_back(entry);
      behaviour_->extents.push_back(extent);
      if (behaviour_->computes)
        find_native_kernel(entry)(buffers.data(), scalars.data(), 0, extent);
      return {};
    });
  }
  bool prefers_batches() const noexcept override { return behaviour_->prefers_batches; }
  Status launch_batch(std::span<const runtime::BatchedLaunch> batch) noexcept override {
    behaviour_->batches.push_back(batch.size());
    return DeviceQueue::launch_batch(batch);
  }
  Status read(runtime::DeviceMemory& from, int64_t offset,
              std::span<std::byte> bytes) noexcept override {
    ++behaviour_->reads;
    TAPML_TRY(run_pending());
    std::memcpy(bytes.data(), address(from) + offset, bytes.size());
    return {};
  }
  Status synchronize() noexcept override {
    ++behaviour_->synchronizes;
    return run_pending();
  }
  Result<bool> done() noexcept override { return !behaviour_->hangs; }

 private:
  static std::byte* address(runtime::DeviceMemory& memory) {
    return static_cast<TestMemory&>(memory).data();
  }
  Status enqueue(std::function<Status()> work) {
    if (!behaviour_->deferred) return work();
    pending_.push_back(std::move(work));
    return {};
  }
  Status run_pending() {
    while (!pending_.empty()) {
      std::function<Status()> work = std::move(pending_.front());
      pending_.pop_front();
      TAPML_TRY(work());
    }
    return {};
  }

  std::shared_ptr<TestBehaviour> behaviour_;
  std::deque<std::function<Status()>> pending_;
};

class TestDevice final : public runtime::Device {
 public:
  explicit TestDevice(std::string platform = "test") {
    info_.platform = std::move(platform);
    info_.limits.max_workgroup_threads = 256;
  }
  TestBehaviour& behaviour() { return *behaviour_; }
  Limits& limits() { return info_.limits; }

  const DeviceInfo& info() const noexcept override { return info_; }
  Result<std::shared_ptr<runtime::DeviceMemory>> allocate(int64_t bytes) noexcept override {
    if (bytes > int64_t{1} << 28) return fail(platform_error(PlatformFault::kLimit, "too large"));
    if (behaviour_->fail_allocations > 0) {
      --behaviour_->fail_allocations;
      return fail(platform_error(PlatformFault::kOutOfMemory, "no memory"));
    }
    ++behaviour_->allocations;
    return std::make_shared<TestMemory>(bytes, behaviour_);
  }
  Result<std::shared_ptr<runtime::DeviceModule>> load(const ModuleBlob&) noexcept override {
    return std::make_shared<TestModule>();
  }
  Result<std::unique_ptr<runtime::DeviceQueue>> create_queue() noexcept override {
    return std::make_unique<TestQueue>(behaviour_);
  }

 private:
  DeviceInfo info_;
  std::shared_ptr<TestBehaviour> behaviour_ = std::make_shared<TestBehaviour>();
};

// A session on its own device.
struct TestSession {
  explicit TestSession(std::string platform = "test")
      : device(std::make_shared<TestDevice>(std::move(platform))),
        session(std::move(*runtime::LocalSession::create(device))) {}
  TestBehaviour& behaviour() { return device->behaviour(); }
  runtime::Session& operator*() { return *session; }
  std::shared_ptr<TestDevice> device;
  std::unique_ptr<runtime::LocalSession> session;
};

}  // namespace tapml::test
