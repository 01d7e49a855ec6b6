// A platform as this process sees it: memory, in-order queues, kernels. Each folder under device/
// implements one; sessions (runtime/session.h) add handles and deadlines.
#pragma once

#include <memory>
#include <span>

#include "abi/device_info.h"
#include "exec/executable.h"

namespace tapml::runtime {

// Device memory, released with the object.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual int64_t size() const noexcept = 0;
  // Address for direct host access; null if the host cannot access the memory.
  virtual std::byte* host_address() noexcept { return nullptr; }
  // Read-only memory belongs to the host (Device::share).
  virtual bool read_only() const noexcept { return false; }
};

// One device kernel of a loaded module, ready to launch.
class DeviceKernel {
 public:
  virtual ~DeviceKernel() = default;
};

class DeviceModule {
 public:
  virtual ~DeviceModule() = default;
  // InternalError if the entry is missing.
  virtual Result<std::shared_ptr<DeviceKernel>> kernel(const std::string& entry) noexcept = 0;
};

struct BufferArg {
  DeviceMemory* memory = nullptr;
  int64_t offset = 0;  // bytes
};

struct LaunchArgs {
  std::span<const BufferArg> buffers;
  std::span<const int64_t> scalars;
  int64_t extent = 0;  // work items, see LaunchInfo
  // Local size. On cpu: the minimum number of iterations per thread.
  int64_t workgroup_threads = 1;
  GridRest grid = {1, 1};
  std::span<const SharedSize> shared;
};

// A launch of a batch; `entry` names the kernel in errors.
struct BatchedLaunch {
  DeviceKernel* kernel = nullptr;
  const std::string* entry = nullptr;
  LaunchArgs args;
};

// A point in a queue that other queues of the device can wait for.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;
};

// An in-order queue. Work may also run inline, at once. An error of enqueued work surfaces at the
// next synchronize(); after that the queue stays failed.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;
  // Copies `bytes` before it returns.
  virtual Status write(DeviceMemory& to, int64_t offset,
                       std::span<const std::byte> bytes) noexcept = 0;
  virtual Status copy(DeviceMemory& from, int64_t from_offset, DeviceMemory& to, int64_t to_offset,
                      int64_t size) noexcept = 0;
  virtual Status fill_zero(DeviceMemory& to, int64_t offset, int64_t size) noexcept = 0;
  virtual Status launch(DeviceKernel& kernel, const LaunchArgs& args) noexcept = 0;
  // Whether a batch costs less than its launches one by one. Sessions then gather the launches of a
  // VM's call (LocalSession::begin_batch).
  virtual bool prefers_batches() const noexcept { return false; }
  // The launches in order, as one submission where the platform has one (a command buffer, a
  // graph); here one by one. A model's steps make equal batches again and again, so a platform may
  // keep what it recorded for one and submit that again.
  virtual Status launch_batch(std::span<const BatchedLaunch> batch) noexcept;
  // Waits for all earlier work and reads.
  virtual Status read(DeviceMemory& from, int64_t offset, std::span<std::byte> bytes) noexcept = 0;
  virtual Status synchronize() noexcept = 0;
  // Whether all enqueued work is done, without waiting. Always true for inline queues.
  virtual Result<bool> done() noexcept { return true; }
  // An event that is reached when all earlier work is done; null: it is done already. The default
  // is for inline queues.
  virtual Result<std::shared_ptr<DeviceEvent>> record() noexcept { return nullptr; }
  // Work enqueued after this runs once `event` is reached.
  virtual Status wait(DeviceEvent& event) noexcept { return {}; }
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const noexcept = 0;
  // Zero bytes are allowed; the contents are unspecified. Fails with kOutOfMemory or kLimit.
  virtual Result<std::shared_ptr<DeviceMemory>> allocate(int64_t bytes) noexcept = 0;
  // The host's `bytes`, kept alive by `owner`, as memory that kernels read in place; null if the
  // device cannot do that and they have to be copied.
  virtual std::shared_ptr<DeviceMemory> share(std::span<const std::byte> bytes,
                                              const std::shared_ptr<const void>& owner) noexcept {
    static_cast<void>(bytes);
    static_cast<void>(owner);
    return nullptr;
  }
  virtual Result<std::shared_ptr<DeviceModule>> load(const ModuleBlob& blob) noexcept = 0;
  virtual Result<std::unique_ptr<DeviceQueue>> create_queue() noexcept = 0;
  // Nothing is launched for a while: spinning threads may sleep. `wake_fd`: a file descriptor that
  // becomes readable when launches are about to follow, -1 for none; they may wait on it.
  virtual void idle(int wake_fd) noexcept { static_cast<void>(wake_fd); }
  // Launches are about to follow: the device's own threads wake up.
  virtual void wake() noexcept {}
};

}  // namespace tapml::runtime
