// Which Vulkan devices there are and what they can do.
#pragma once

#include <set>

#include "abi/device_info.h"
#include "device/vulkan/vulkan_instance.h"

namespace tapml::device {

// A device that computes, with what its driver says of it.
struct VulkanPhysical {
  VkPhysicalDevice device = VK_NULL_HANDLE;
  uint32_t family = 0;  // of queues that compute
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceVulkan11Properties properties11{};
  VkPhysicalDeviceVulkan12Properties properties12{};
  VkPhysicalDeviceSubgroupSizeControlProperties subgroup_sizes{};
  int64_t max_buffer_bytes = 0;  // 0: no limit known
  VkPhysicalDeviceFeatures features{};
  VkPhysicalDeviceVulkan11Features features11{};
  VkPhysicalDeviceVulkan12Features features12{};
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroup_control{};
  VkPhysicalDeviceMemoryProperties memory{};

  bool is_processor() const { return properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU; }
  // Whether its memory is the host's.
  bool is_unified() const {
    return is_processor() || properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  }
};

// The features that kernels may use, where a device has them; what else it has stays off.
struct VulkanFeatures {
  explicit VulkanFeatures(const VulkanPhysical& physical);
  VkPhysicalDeviceFeatures features{};
  VkPhysicalDeviceVulkan11Features features11{};
  VkPhysicalDeviceVulkan12Features features12{};
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroup_control{};  // of 1.3
};

// In the order of the loader; devices below Vulkan 1.2 and those that do not compute are left out.
Result<std::vector<VulkanPhysical>> find_vulkan_devices(const VulkanInstance& instance);
// The one to use where the user names none; `devices` is not empty.
const VulkanPhysical& best_vulkan_device(const std::vector<VulkanPhysical>& devices);
DeviceInfo describe_vulkan_device(const VulkanPhysical& physical);
// Whether a pipeline's subgroups can have `width`, one that all pipelines have or one that it asks
// for.
bool has_subgroup_width(const VulkanPhysical& physical, uint32_t width);
// Whether a pipeline may ask for it.
bool may_require_subgroups(const VulkanPhysical& physical, uint32_t width);
// SPIR-V capabilities that a kernel may declare on the device.
std::set<uint32_t> vulkan_capabilities(const VulkanPhysical& physical);
// What a compiled pipeline depends on beside its code: device, driver, version, cache id.
std::string vulkan_build_identity(const VulkanPhysical& physical);

}  // namespace tapml::device
