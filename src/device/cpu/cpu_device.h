// The processor that this program runs on.
#pragma once

#include <memory>

#include "device/cpu/library/host_library.h"
#include "runtime/device.h"
#include "runtime/kernel_loader.h"

namespace tapml::device {

// Queues run inline: work is done when the call that enqueues it returns. A thread pool shares a
// kernel's iterations; a launch's workgroup_threads is the minimum number of iterations per thread.
// Memory is aligned to 64 bytes and padded, so that whole vectors may be loaded up to its end.
class CpuDevice final : public runtime::Device {
 public:
  // `threads`: 0 for all cores. `loader` turns module blobs into code; without one, load() accepts
  // only modules of library calls, which find `libraries` by name, and tapml's own. `under_test`: a
  // launch that changes rounding, flushing of subnormals or traps fails (runtime::misbehavior).
  // They are restored in any case.
  CpuDevice(int threads, std::shared_ptr<runtime::KernelLoader> loader,
            HostLibraries libraries = {}, bool under_test = false);
  ~CpuDevice() override;

  const DeviceInfo& info() const noexcept override;
  Result<std::shared_ptr<runtime::DeviceMemory>> allocate(int64_t bytes) noexcept override;
  // Supports bytes after which a whole vector may be loaded: all except those that end right before
  // a page that may be unmapped.
  std::shared_ptr<runtime::DeviceMemory> share(
      std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) noexcept override;
  Result<std::shared_ptr<runtime::DeviceModule>> load(const ModuleBlob& blob) noexcept override;
  Result<std::unique_ptr<runtime::DeviceQueue>> create_queue() noexcept override;
  void idle(int wake_fd) noexcept override;
  void wake() noexcept override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Host memory with an external owner, for LocalSession::adopt() on a CpuDevice: `size` bytes from
// `data` on, aligned for their elements, which `owner` keeps alive. Nothing is copied.
std::shared_ptr<runtime::DeviceMemory> wrap_host_memory(std::byte* data, int64_t size,
                                                        std::shared_ptr<const void> owner);
// Whether wrap_host_memory() made it: then others may write it, too.
bool is_wrapped(const runtime::DeviceMemory* memory);

}  // namespace tapml::device
