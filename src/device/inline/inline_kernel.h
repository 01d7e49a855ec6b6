// Kernels that are machine code in the address space of this program.
#pragma once

#include "runtime/device.h"
#include "runtime/kernel_loader.h"

namespace tapml::device {

// Calls a kernel's function for ranges that partition the work items of a launch.
class Shares {
 public:
  virtual ~Shares() = default;
  // `grain`: the minimum number of items per call.
  virtual void run(runtime::CpuKernel function, void* const* buffers, const int64_t* scalars,
                   int64_t extent, int64_t grain) noexcept = 0;
};

struct InlineKernel : runtime::DeviceKernel {
  // Runs the whole launch, shared out by `shares` unless the kernel parallelizes itself.
  virtual Status run(const runtime::LaunchArgs& args, Shares& shares) const noexcept = 0;
};

// The entries of `code`, which they keep loaded.
std::shared_ptr<runtime::DeviceModule> inline_module(std::shared_ptr<runtime::HostCode> code);

}  // namespace tapml::device
