// A device that counts the memory that another device allocates.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>

#include "runtime/device.h"

namespace tapml::runtime {

struct MemoryCounts {
  std::atomic<int64_t> allocations{0};
  std::atomic<int64_t> live_bytes{0}, peak_bytes{0};  // allocated, now and at most
};

class CountingDevice : public Device {
 public:
  explicit CountingDevice(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  const DeviceInfo& info() const noexcept override { return device_->info(); }
  Result<std::shared_ptr<DeviceMemory>> allocate(int64_t bytes) noexcept override {
    auto memory = device_->allocate(bytes);
    if (!memory) return memory;
    const int64_t size = (*memory)->size();
    ++counts_->allocations;
    const int64_t live = counts_->live_bytes += size;
    counts_->peak_bytes = std::max<int64_t>(counts_->peak_bytes, live);
    // The device's own object, so that its queues recognize it; its destruction is counted.
    return std::shared_ptr<DeviceMemory>(
        memory->get(), [kept = *memory, counts = counts_, size](DeviceMemory*) mutable {
          kept.reset();
          counts->live_bytes -= size;
        });
  }
  Result<std::shared_ptr<DeviceModule>> load(const ModuleBlob& blob) noexcept override {
    return device_->load(blob);
  }
  Result<std::unique_ptr<DeviceQueue>> create_queue() noexcept override {
    return device_->create_queue();
  }

  const MemoryCounts& counts() const { return *counts_; }

 private:
  std::shared_ptr<Device> device_;
  std::shared_ptr<MemoryCounts> counts_ = std::make_shared<MemoryCounts>();
};

}  // namespace tapml::runtime
