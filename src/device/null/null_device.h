// A device that moves bytes but computes nothing: for tests and measurements that need no platform.
#pragma once

#include <atomic>

#include "runtime/device.h"

namespace tapml::device {

// What reached the device, over all its queues.
struct NullCounts {
  std::atomic<int64_t> allocations{0}, releases{0}, modules{0};
  std::atomic<int64_t> live_bytes{0}, peak_bytes{0};  // asked for, now and at most
  std::atomic<int64_t> writes{0}, written_bytes{0};
  std::atomic<int64_t> copies{0}, fills{0}, launches{0};
  std::atomic<int64_t> reads{0}, synchronizes{0};
};

// Memory is real, so that copies work and what was written can be read. Launches are checked and
// counted: a kernel leaves its outputs as they were.
class NullDevice final : public runtime::Device {
 public:
  // Limits are held to as given; 0 allocation bytes: only memory itself is the limit.
  explicit NullDevice(Limits limits = default_limits());

  static Limits default_limits();

  const DeviceInfo& info() const noexcept override { return info_; }
  Result<std::shared_ptr<runtime::DeviceMemory>> allocate(int64_t bytes) noexcept override;
  // Takes a blob of any platform and knows the entries that it lists.
  Result<std::shared_ptr<runtime::DeviceModule>> load(const ModuleBlob& blob) noexcept override;
  Result<std::unique_ptr<runtime::DeviceQueue>> create_queue() noexcept override;

  const NullCounts& counts() const { return *counts_; }

 private:
  DeviceInfo info_;
  std::shared_ptr<NullCounts> counts_;  // shared with memory and queues, which may live longer
};

}  // namespace tapml::device
