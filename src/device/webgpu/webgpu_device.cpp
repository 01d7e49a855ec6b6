#include "device/webgpu/webgpu_device.h"

#include "device/webgpu/webgpu_module.h"
#include "device/webgpu/webgpu_queue.h"

namespace tapml::device {

namespace {

using runtime::Device;
using runtime::DeviceMemory;
using runtime::DeviceModule;
using runtime::DeviceQueue;

class WebGpuDevice final : public Device {
 public:
  explicit WebGpuDevice(std::shared_ptr<WebGpuContext> context) : context_(std::move(context)) {}

  const DeviceInfo& info() const noexcept override { return context_->info(); }
  Result<std::shared_ptr<DeviceMemory>> allocate(int64_t bytes) noexcept override {
    return WebGpuMemory::create(context_, bytes);
  }
  Result<std::shared_ptr<DeviceModule>> load(const ModuleBlob& blob) noexcept override {
    return load_webgpu_module(context_, blob);
  }
  Result<std::unique_ptr<DeviceQueue>> create_queue() noexcept override {
    return create_webgpu_queue(context_);
  }

 private:
  const std::shared_ptr<WebGpuContext> context_;
};

}  // namespace

Result<std::shared_ptr<Device>> create_webgpu_device(std::shared_ptr<Gpu> gpu) noexcept {
  TAPML_ASSIGN(auto context, WebGpuContext::open(std::move(gpu)));
  return std::make_shared<WebGpuDevice>(std::move(context));
}

}  // namespace tapml::device
