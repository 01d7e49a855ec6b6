// Launches that were held back, to be submitted as one.
#pragma once

#include <vector>

#include "runtime/device.h"

namespace tapml::runtime {

// Copies what a launch refers to, but kernels and memory: these stay alive until clear(). Adding
// allocates nothing once the batch has been as large before.
class LaunchBatch {
 public:
  static constexpr size_t kMostLaunches = 64;

  void add(DeviceKernel& kernel, const std::string& entry, const LaunchArgs& args);
  bool empty() const { return items_.empty(); }
  bool is_full() const { return items_.size() >= kMostLaunches; }
  // Valid until the next change.
  std::span<const BatchedLaunch> launches();
  void clear();

 private:
  std::vector<BatchedLaunch> items_;  // their spans are set by launches()
  std::vector<BufferArg> buffers_;    // of all launches, in order
  std::vector<int64_t> scalars_;
  std::vector<SharedSize> shared_;
};

}  // namespace tapml::runtime
