// A platform seen from this process: memory, in-order queues, kernels. One folder under device/
// implements it; sessions (runtime/session.h) put handles and deadlines on top.
#pragma once

#include <memory>
#include <span>

#include "abi/device_info.h"
#include "exec/executable.h"

namespace tapml::runtime {

// Memory of a device. Released with the object.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual int64_t size() const noexcept = 0;
  // Address where the host can read and write it directly; null where it cannot.
  virtual std::byte* host_address() noexcept { return nullptr; }
  // Nothing may write it: it is the host's (Device::share).
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
  // InternalError when the entry is missing.
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
  // Local size. On cpu: the least number of iterations worth a thread of their own.
  int64_t workgroup_threads = 1;
};

// A point in a queue that other queues of the device can wait for.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;
};

// An in-order queue: what is enqueued runs in that order. Work may also run inline, at once.
// An error of enqueued work surfaces at the next synchronize() and then the queue stays failed.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;
  // `bytes` are taken before the call returns.
  virtual Status write(DeviceMemory& to, int64_t offset,
                       std::span<const std::byte> bytes) noexcept = 0;
  virtual Status copy(DeviceMemory& from, int64_t from_offset, DeviceMemory& to, int64_t to_offset,
                      int64_t size) noexcept = 0;
  virtual Status fill_zero(DeviceMemory& to, int64_t offset, int64_t size) noexcept = 0;
  virtual Status launch(DeviceKernel& kernel, const LaunchArgs& args) noexcept = 0;
  // Waits for everything enqueued before and reads.
  virtual Status read(DeviceMemory& from, int64_t offset, std::span<std::byte> bytes) noexcept = 0;
  virtual Status synchronize() noexcept = 0;
  // Whether everything enqueued is done, without waiting. Queues that run inline always are.
  virtual Result<bool> done() noexcept { return true; }
  // Reached when everything enqueued before is done; null: it is already. The default fits queues
  // that run inline.
  virtual Result<std::shared_ptr<DeviceEvent>> record() noexcept { return nullptr; }
  // What is enqueued after this runs once `event` is reached.
  virtual Status wait(DeviceEvent& event) noexcept { return {}; }
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const noexcept = 0;
  // Zero bytes are allowed; the contents are unspecified. kOutOfMemory or kLimit.
  virtual Result<std::shared_ptr<DeviceMemory>> allocate(int64_t bytes) noexcept = 0;
  // The host's own `bytes`, kept by `owner`, as memory that kernels read where it lies; null: this
  // device cannot, and they have to be copied.
  virtual std::shared_ptr<DeviceMemory> share(std::span<const std::byte> bytes,
                                              const std::shared_ptr<const void>& owner) noexcept {
    static_cast<void>(bytes);
    static_cast<void>(owner);
    return nullptr;
  }
  virtual Result<std::shared_ptr<DeviceModule>> load(const ModuleBlob& blob) noexcept = 0;
  virtual Result<std::unique_ptr<DeviceQueue>> create_queue() noexcept = 0;
  // Nothing is launched for a while: threads that stay awake for more may sleep. `wake_fd`: a file
  // that is readable when there is about to be more, -1 for none; they may wake up with it.
  virtual void idle(int wake_fd) noexcept { static_cast<void>(wake_fd); }
  // There is about to be some: threads of the device's own wake up meanwhile.
  virtual void wake() noexcept {}
};

}  // namespace tapml::runtime
