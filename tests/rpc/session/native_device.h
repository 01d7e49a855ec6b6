// A cpu device with the kernels of native_kernels.h.
#pragma once

#include <memory>

#include "conformance/native_kernels.h"
#include "device/cpu/cpu_device.h"

namespace tapml::test {

inline std::shared_ptr<device::CpuDevice> native_device() {
  return std::make_shared<device::CpuDevice>(1, std::make_shared<NativeLoader>());
}

}  // namespace tapml::test
