// The device inside of WebAssembly: linear memory, one thread. It runs in the program of worker/;
// in other programs `wasm` is a remote device.
#pragma once

#include <functional>
#include <memory>

#include "runtime/device.h"
#include "runtime/kernel_loader.h"

namespace tapml::device {

struct WasmOptions {
  std::shared_ptr<runtime::KernelLoader> loader;
  std::string name, version;  // of the WebAssembly runtime
  // Called between the parts of long work, to tell a waiting client that it continues.
  std::function<void()> poll;
};

// Kernels are like those of cpu (runtime::CpuKernel), in modules of platform "wasm".
class WasmDevice final : public runtime::Device {
 public:
  explicit WasmDevice(WasmOptions options);

  const DeviceInfo& info() const noexcept override { return info_; }
  Result<std::shared_ptr<runtime::DeviceMemory>> allocate(int64_t bytes) noexcept override;
  Result<std::shared_ptr<runtime::DeviceModule>> load(const ModuleBlob& blob) noexcept override;
  Result<std::unique_ptr<runtime::DeviceQueue>> create_queue() noexcept override;

 private:
  std::shared_ptr<const WasmOptions> options_;
  DeviceInfo info_;
};

}  // namespace tapml::device
