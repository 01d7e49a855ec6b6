#include "device/vulkan/vulkan_device.h"

#include "device/module_cache.h"
#include "device/vulkan/vulkan_context.h"

namespace tapml::device {

namespace {

using runtime::Device;
using runtime::DeviceMemory;
using runtime::DeviceModule;
using runtime::DeviceQueue;

class VulkanDevice final : public Device {
 public:
  explicit VulkanDevice(std::shared_ptr<VulkanContext> context) : context_(std::move(context)) {}

  const DeviceInfo& info() const noexcept override { return context_->info; }

  Result<std::shared_ptr<DeviceMemory>> allocate(int64_t bytes) noexcept override {
    int64_t most = context_->info.limits.max_allocation_bytes;
    if (bytes > most) {
      return fail(platform_error(PlatformFault::kLimit,
                                 "an allocation of " + std::to_string(bytes) +
                                     " bytes; this device allows " + std::to_string(most),
                                 "vulkan"));
    }
    TAPML_TRY(context_->alive());
    TAPML_ASSIGN(std::shared_ptr<VulkanRange> range, context_->allocate(bytes));
    TAPML_TRY(context_->valid());
    return std::make_shared<VulkanMemory>(context_, std::move(range), bytes);
  }

  Result<std::shared_ptr<DeviceModule>> load(const ModuleBlob& blob) noexcept override {
    if (blob.platform != "vulkan" || blob.format != "spirv") {
      return fail(internal_error(
          "a module of format " + blob.format + " for " + blob.platform + " is loaded on vulkan",
          "vulkan"));
    }
    TAPML_TRY(context_->alive());
    Sha256 hash;
    for (const std::string& entry : blob.entries) {
      hash.update(std::to_string(entry.size()) + ":" + entry);
    }
    hash.update(blob.bytes);
    return modules_.get(hash.digest(), [&] { return load_vulkan_module(context_, blob); });
  }

  Result<std::unique_ptr<DeviceQueue>> create_queue() noexcept override {
    return create_vulkan_queue(context_);
  }

 private:
  std::shared_ptr<VulkanContext> context_;
  ModuleCache modules_;  // by hash of names and code
};

}  // namespace

std::shared_ptr<Device> make_vulkan_device(std::shared_ptr<VulkanContext> context) {
  return std::make_shared<VulkanDevice>(std::move(context));
}

Result<std::shared_ptr<Device>> create_vulkan_device(const VulkanOptions& options) noexcept {
  TAPML_ASSIGN(std::shared_ptr<VulkanContext> context, VulkanContext::open(options));
  return make_vulkan_device(std::move(context));
}

Result<std::vector<DeviceInfo>> list_vulkan_devices(const VulkanOptions& options) noexcept {
  TAPML_ASSIGN(std::shared_ptr<VulkanInstance> instance, VulkanInstance::open(options));
  TAPML_ASSIGN(std::vector<VulkanPhysical> devices, find_vulkan_devices(*instance));
  std::vector<DeviceInfo> infos;
  for (const VulkanPhysical& device : devices) infos.push_back(describe_vulkan_device(device));
  return infos;
}

}  // namespace tapml::device
