#include "device/open.h"

#include "device/vulkan/vulkan_device.h"

namespace tapml::device {

OpenedDevice open_vulkan(const OpenOptions& options) noexcept {
  VulkanOptions vulkan;
  vulkan.device = options.number;
  if (options.open_cache) vulkan.pipelines = options.open_cache();
  vulkan.validation = options.validation;
  return create_vulkan_device(vulkan);
}

}  // namespace tapml::device
