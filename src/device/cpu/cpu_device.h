// The processor that this program runs on.
#pragma once

#include <memory>

#include "device/cpu/library/host_library.h"
#include "runtime/device.h"
#include "runtime/kernel_loader.h"

namespace tapml::device {

// Queues run inline: work is done when the call that enqueues it returns. A kernel's iterations are
// shared out to a pool of threads; a launch's workgroup_threads is the least number of iterations
// that is worth a thread of their own. Memory is aligned to 64 bytes and padded, so that whole
// vectors may be loaded up to its end.
class CpuDevice final : public runtime::Device {
 public:
  // `threads`: 0 for all cores. `loader` turns module blobs into code; without one, load() fails
  // but for modules of library calls. Those find `libraries` by name, and tapml's own.
  // `under_test`: a launch that leaves rounding, flushing of subnormals or traps otherwise than it
  // found them fails (runtime::misbehavior). They are put back in any case.
  CpuDevice(int threads, std::shared_ptr<runtime::KernelLoader> loader,
            HostLibraries libraries = {}, bool under_test = false);
  ~CpuDevice() override;

  const DeviceInfo& info() const noexcept override;
  Result<std::shared_ptr<runtime::DeviceMemory>> allocate(int64_t bytes) noexcept override;
  // Bytes behind which a whole vector may be loaded, too: all but those that end right before a
  // page that may not be there.
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

// Memory of the host that others own, for LocalSession::adopt() on a CpuDevice: `size` bytes from
// `data` on, aligned for their elements, which `owner` keeps. Nothing is copied.
std::shared_ptr<runtime::DeviceMemory> wrap_host_memory(std::byte* data, int64_t size,
                                                        std::shared_ptr<const void> owner);
// Whether wrap_host_memory() made it: then others may write it, too.
bool is_wrapped(const runtime::DeviceMemory* memory);

}  // namespace tapml::device
