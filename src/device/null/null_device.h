// A device that moves bytes but computes nothing: for tests and measurements that need no platform.
#pragma once

#include <atomic>

#include "runtime/device.h"

namespace tapml::device {

// Counts the requests to the device, over all its queues.
struct NullCounts {
  std::atomic<int64_t> allocations{0}, releases{0}, modules{0};
  std::atomic<int64_t> live_bytes{0}, peak_bytes{0};  // requested, now and at peak
  std::atomic<int64_t> writes{0}, written_bytes{0};
  std::atomic<int64_t> copies{0}, fills{0}, launches{0};
  std::atomic<int64_t> reads{0}, synchronizes{0};
};

// Memory is real, so copies work and written bytes can be read. Launches are checked and counted,
// but leave their outputs unchanged.
class NullDevice final : public runtime::Device {
 public:
  // Enforces the given limits; 0 allocation bytes: limited only by memory.
  explicit NullDevice(Limits limits = default_limits());

  static Limits default_limits();

  const DeviceInfo& info() const noexcept override { return info_; }
  Result<std::shared_ptr<runtime::DeviceMemory>> allocate(int64_t bytes) noexcept override;
  // Accepts a blob of any platform and provides the entries that it lists.
  Result<std::shared_ptr<runtime::DeviceModule>> load(const ModuleBlob& blob) noexcept override;
  Result<std::unique_ptr<runtime::DeviceQueue>> create_queue() noexcept override;

  const NullCounts& counts() const { return *counts_; }

 private:
  DeviceInfo info_;
  std::shared_ptr<NullCounts>
      counts_;  // shared with memory and queues, which may outlive the device
};

}  // namespace tapml::device
