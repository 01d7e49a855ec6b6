// Kernels of the cpu device. Private to this folder.
#pragma once

#include "runtime/device.h"
#include "runtime/kernel_loader.h"

namespace tapml::device {

// Machine code that is called with ranges of its work items, or what runs itself.
struct CpuDeviceKernel : runtime::DeviceKernel {
  runtime::CpuKernel function = nullptr;
  // Where there is no `function`.
  virtual Status run(const runtime::LaunchArgs&) const noexcept { return {}; }
};

}  // namespace tapml::device
