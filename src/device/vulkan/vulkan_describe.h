// Finds Vulkan devices and describes them.
#pragma once

#include <set>

#include "abi/device_info.h"
#include "device/vulkan/vulkan_instance.h"

namespace tapml::device {

constexpr uint32_t kMostVulkanBuffers = 64;  // of a launch

// A compute-capable device and the properties that its driver reports.
struct VulkanPhysical {
  VkPhysicalDevice device = VK_NULL_HANDLE;
  uint32_t family = 0;  // with compute queues
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceVulkan11Properties properties11{};
  VkPhysicalDeviceVulkan12Properties properties12{};
  VkPhysicalDeviceSubgroupSizeControlProperties subgroup_sizes{};
  int64_t max_buffer_bytes = 0;  // 0: unlimited or unknown
  VkPhysicalDeviceFeatures features{};
  VkPhysicalDeviceVulkan11Features features11{};
  VkPhysicalDeviceVulkan12Features features12{};
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroup_control{};
  VkPhysicalDeviceMemoryProperties memory{};

  bool is_processor() const { return properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU; }
  // Whether it uses host memory.
  bool is_unified() const {
    return is_processor() || properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  }
};

// The features that kernels may use, if the device has them; all others stay disabled.
struct VulkanFeatures {
  explicit VulkanFeatures(const VulkanPhysical& physical);
  VkPhysicalDeviceFeatures features{};
  VkPhysicalDeviceVulkan11Features features11{};
  VkPhysicalDeviceVulkan12Features features12{};
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroup_control{};  // of Vulkan 1.3
};

// In the order of the loader; omits devices below Vulkan 1.2 and those without compute.
Result<std::vector<VulkanPhysical>> find_vulkan_devices(const VulkanInstance& instance);
// The default device; `devices` must not be empty.
const VulkanPhysical& best_vulkan_device(const std::vector<VulkanPhysical>& devices);
DeviceInfo describe_vulkan_device(const VulkanPhysical& physical);
// Widths of floats besides 32 bits whose subnormals a shader may ask to keep.
std::set<uint32_t> kept_denormal_widths(const VulkanPhysical& physical);
// Whether a pipeline's subgroups can have `width`, either because all pipelines do or by request.
bool has_subgroup_width(const VulkanPhysical& physical, uint32_t width);
// Whether a pipeline may request it.
bool may_require_subgroups(const VulkanPhysical& physical, uint32_t width);
// SPIR-V capabilities that a kernel may declare on the device.
std::set<uint32_t> vulkan_capabilities(const VulkanPhysical& physical);
// The dependencies of a compiled pipeline besides its code: device, driver, version, cache id.
std::string vulkan_build_identity(const VulkanPhysical& physical);

}  // namespace tapml::device
