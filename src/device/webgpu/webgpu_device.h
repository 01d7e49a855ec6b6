// WebGPU of a browser. The device runs in the WebAssembly program of worker/, in a tab; in other
// programs `webgpu` is a remote device.
#pragma once

#include <memory>

#include "device/webgpu/gpu.h"
#include "runtime/device.h"

namespace tapml::device {

// Modules: see load_webgpu_module(). kAbsent if the browser has no WebGPU or no adapter. One thread
// uses the device.
Result<std::shared_ptr<runtime::Device>> create_webgpu_device(std::shared_ptr<Gpu> gpu) noexcept;

}  // namespace tapml::device
