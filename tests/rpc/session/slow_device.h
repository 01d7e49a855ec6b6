// A device that blocks where the test wants, and counts the objects left on it.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "rpc/session/content_store.h"
#include "runtime/test_device.h"

namespace tapml::test {

// Where work blocks until it may continue.
struct Stop {
  enum class At : uint8_t { kNowhere, kAllocate, kLoad, kKernel, kLaunch, kWait, kContents };
  std::atomic<At> at = At::kNowhere;
  std::atomic<std::chrono::milliseconds> launch_time{std::chrono::milliseconds(0)};
  std::atomic<int> loads{0}, modules{0}, launches{0};  // started, alive, started

  void pass(At where) const {
    while (at == where) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

class SlowModule final : public runtime::DeviceModule {
 public:
  SlowModule(std::shared_ptr<runtime::DeviceModule> module, std::shared_ptr<Stop> stop)
      : module_(std::move(module)), stop_(std::move(stop)) {
    ++stop_->modules;
  }
  ~SlowModule() override { --stop_->modules; }
  Result<std::shared_ptr<runtime::DeviceKernel>> kernel(
      const std::string& entry) noexcept override {
    stop_->pass(Stop::At::kKernel);
    return module_->kernel(entry);
  }

 private:
  std::shared_ptr<runtime::DeviceModule> module_;
  std::shared_ptr<Stop> stop_;
};

class SlowQueue final : public runtime::DeviceQueue {
 public:
  SlowQueue(std::unique_ptr<runtime::DeviceQueue> queue, std::shared_ptr<Stop> stop)
      : queue_(std::move(queue)), stop_(std::move(stop)) {}
  Status write(runtime::DeviceMemory& to, int64_t offset,
               std::span<const std::byte> bytes) noexcept override {
    return queue_->write(to, offset, bytes);
  }
  Status copy(runtime::DeviceMemory& from, int64_t from_offset, runtime::DeviceMemory& to,
              int64_t to_offset, int64_t size) noexcept override {
    return queue_->copy(from, from_offset, to, to_offset, size);
  }
  Status fill_zero(runtime::DeviceMemory& to, int64_t offset, int64_t size) noexcept override {
    return queue_->fill_zero(to, offset, size);
  }
  Status launch(runtime::DeviceKernel& kernel, const runtime::LaunchArgs& args) noexcept override {
    ++stop_->launches;
    stop_->pass(Stop::At::kLaunch);
    std::this_thread::sleep_for(stop_->launch_time.load());
    return queue_->launch(kernel, args);
  }
  Status read(runtime::DeviceMemory& from, int64_t offset,
              std::span<std::byte> bytes) noexcept override {
    stop_->pass(Stop::At::kWait);
    return queue_->read(from, offset, bytes);
  }
  Status synchronize() noexcept override {
    stop_->pass(Stop::At::kWait);
    return queue_->synchronize();
  }
  Result<bool> done() noexcept override { return stop_->at != Stop::At::kWait; }

 private:
  std::unique_ptr<runtime::DeviceQueue> queue_;
  std::shared_ptr<Stop> stop_;
};

class SlowDevice final : public runtime::Device {
 public:
  const DeviceInfo& info() const noexcept override { return device_.info(); }
  Result<std::shared_ptr<runtime::DeviceMemory>> allocate(int64_t bytes) noexcept override {
    stop->pass(Stop::At::kAllocate);
    return device_.allocate(bytes);
  }
  Result<std::shared_ptr<runtime::DeviceModule>> load(const ModuleBlob& blob) noexcept override {
    ++stop->loads;
    stop->pass(Stop::At::kLoad);
    TAPML_ASSIGN(auto module, device_.load(blob));
    return std::make_shared<SlowModule>(std::move(module), stop);
  }
  Result<std::unique_ptr<runtime::DeviceQueue>> create_queue() noexcept override {
    TAPML_ASSIGN(auto queue, device_.create_queue());
    return std::make_unique<SlowQueue>(std::move(queue), stop);
  }
  int64_t live_bytes() { return device_.behaviour().live_bytes; }

  const std::shared_ptr<Stop> stop = std::make_shared<Stop>();

 private:
  TestDevice device_;
};

// Stores nothing, slowly.
class SlowContents final : public rpc::ContentStore {
 public:
  explicit SlowContents(std::shared_ptr<Stop> stop) : stop_(std::move(stop)) {}
  std::optional<std::vector<std::byte>> get(const std::string&) noexcept override {
    stop_->pass(Stop::At::kContents);
    return {};
  }
  void put(const std::string&, std::span<const std::byte>) noexcept override {}

 private:
  std::shared_ptr<Stop> stop_;
};

}  // namespace tapml::test
