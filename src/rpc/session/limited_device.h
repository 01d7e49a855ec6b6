// A device that limits the memory of one session.
#pragma once

#include <atomic>
#include <memory>

#include "runtime/device.h"

namespace tapml::rpc {

class LimitedDevice final : public runtime::Device {
 public:
  LimitedDevice(std::shared_ptr<runtime::Device> device, int64_t bytes)
      : device_(std::move(device)),
        most_(bytes),
        used_(std::make_shared<std::atomic<int64_t>>(0)) {}

  const DeviceInfo& info() const noexcept override { return device_->info(); }
  // kOutOfMemory beyond the limit.
  Result<std::shared_ptr<runtime::DeviceMemory>> allocate(int64_t bytes) noexcept override;
  Result<std::shared_ptr<runtime::DeviceModule>> load(const ModuleBlob& blob) noexcept override {
    return device_->load(blob);
  }
  Result<std::unique_ptr<runtime::DeviceQueue>> create_queue() noexcept override {
    return device_->create_queue();
  }
  void idle(int wake_fd) noexcept override { device_->idle(wake_fd); }
  void wake() noexcept override { device_->wake(); }

 private:
  std::shared_ptr<runtime::Device> device_;
  const int64_t most_;
  std::shared_ptr<std::atomic<int64_t>> used_;  // memory may outlive the device
};

}  // namespace tapml::rpc
