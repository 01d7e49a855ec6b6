#include "device/vulkan/vulkan_describe.h"

#include <algorithm>
#include <limits>
#include <thread>

#include "device/vulkan/vulkan_spirv.h"

namespace tapml::device {

namespace {

constexpr VkSubgroupFeatureFlags kNeededSubgroupOperations =
    VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT |
    VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT;

bool has_compute_family(const VulkanFunctions& vk, VulkanPhysical& physical) {
  uint32_t count = 0;
  vk.GetPhysicalDeviceQueueFamilyProperties(physical.device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk.GetPhysicalDeviceQueueFamilyProperties(physical.device, &count, families.data());
  for (uint32_t i = 0; i < count; ++i) {
    if (families[i].queueCount == 0 || !(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
    physical.family = i;
    return true;
  }
  return false;
}

void ask_vulkan_driver(const VulkanFunctions& vk, VulkanPhysical& physical) {
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &physical.properties11;
  physical.properties11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
  physical.properties11.pNext = &physical.properties12;
  physical.properties12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
  VkPhysicalDeviceMaintenance4Properties maintenance{};
  maintenance.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES;
  physical.subgroup_sizes.sType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES;
  if (physical.properties.apiVersion >= VK_API_VERSION_1_3) {
    physical.properties12.pNext = &maintenance;
    maintenance.pNext = &physical.subgroup_sizes;
  }
  vk.GetPhysicalDeviceProperties2(physical.device, &properties);
  physical.properties = properties.properties;
  physical.max_buffer_bytes = static_cast<int64_t>(std::min<VkDeviceSize>(
      maintenance.maxBufferSize, static_cast<VkDeviceSize>(std::numeric_limits<int64_t>::max())));

  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = &physical.features11;
  physical.features11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  physical.features11.pNext = &physical.features12;
  physical.features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  physical.subgroup_control.sType =
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
  if (physical.properties.apiVersion >= VK_API_VERSION_1_3) {
    physical.features12.pNext = &physical.subgroup_control;
  }
  vk.GetPhysicalDeviceFeatures2(physical.device, &features);
  physical.features = features.features;
  vk.GetPhysicalDeviceMemoryProperties(physical.device, &physical.memory);
  // The chains point into this call's frame and into an object that moves.
  physical.properties11.pNext = physical.properties12.pNext = nullptr;
  physical.features11.pNext = physical.features12.pNext = nullptr;
}

int rank_of_vulkan_device(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 3;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return 1;
    default:
      return 0;
  }
}

bool has_vulkan_subgroups(const VulkanPhysical& physical) {
  const VkPhysicalDeviceVulkan11Properties& says = physical.properties11;
  return (says.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
         (says.subgroupSupportedOperations & kNeededSubgroupOperations) ==
             kNeededSubgroupOperations;
}

DeviceKind vulkan_kind(const VulkanPhysical& physical) {
  switch (physical.properties.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return DeviceKind::kGpu;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return DeviceKind::kProcessor;
    default:
      return DeviceKind::kUnknown;
  }
}

// Before Vulkan 1.3, pipelines cannot require full subgroups of one width, and drivers that have
// several widths may use another one than they report.
int64_t vulkan_subgroup_width(const VulkanPhysical& physical) {
  const uint32_t width = physical.properties11.subgroupSize;
  const bool can_ask = physical.subgroup_control.computeFullSubgroups == VK_TRUE &&
                       may_require_subgroups(physical, width);
  return has_vulkan_subgroups(physical) && can_ask ? width : 0;
}

Limits vulkan_limits(const VulkanPhysical& physical) {
  const VkPhysicalDeviceLimits& says = physical.properties.limits;
  Limits limits;
  limits.max_workgroup_threads =
      std::min(says.maxComputeWorkGroupInvocations, says.maxComputeWorkGroupSize[0]);
  limits.max_local_memory = says.maxComputeSharedMemorySize;
  limits.max_binding_bytes = says.maxStorageBufferRange;
  limits.max_allocation_bytes = static_cast<int64_t>(
      std::min<VkDeviceSize>(physical.properties11.maxMemoryAllocationSize,
                             static_cast<VkDeviceSize>(std::numeric_limits<int64_t>::max())));
  if (physical.max_buffer_bytes > 0) {
    limits.max_allocation_bytes = std::min(limits.max_allocation_bytes, physical.max_buffer_bytes);
  }
  limits.max_bindings =
      std::min({says.maxPerStageDescriptorStorageBuffers, says.maxDescriptorSetStorageBuffers,
                says.maxPerStageResources, kMostVulkanBuffers});
  limits.buffer_alignment =
      std::max<int64_t>(16, static_cast<int64_t>(says.minStorageBufferOffsetAlignment));
  limits.subgroup_width = vulkan_subgroup_width(physical);
  // Vulkan does not report a GPU's compute units.
  if (physical.is_processor()) {
    limits.threads = std::max<int64_t>(1, std::thread::hardware_concurrency());
  }
  return limits;
}

// Vulkan lets a device flush subnormals of f16 and round toward zero unless it has these.
bool has_exact_f16(const VulkanPhysical& physical) {
  const VkPhysicalDeviceVulkan12Properties& floats = physical.properties12;
  return physical.features12.shaderFloat16 == VK_TRUE &&
         kept_denormal_widths(physical).contains(16) &&
         floats.shaderRoundingModeRTEFloat16 == VK_TRUE &&
         floats.shaderSignedZeroInfNanPreserveFloat16 == VK_TRUE;
}

Features vulkan_features(const VulkanPhysical& physical) {
  Features features;
  for (int i = 0; i <= static_cast<int>(DType::kF64); ++i) {
    auto dtype = static_cast<DType>(i);
    bool wide = dtype == DType::kI64 || dtype == DType::kU64;
    if (wide && !physical.features.shaderInt64) continue;
    if (dtype == DType::kF64 && !physical.features.shaderFloat64) continue;
    // Without native support, narrow types are read from whole words.
    features.storage_dtypes.insert(dtype);
    if (dtype == DType::kBF16) continue;
    if (dtype == DType::kF16 && !has_exact_f16(physical)) continue;
    features.compute_dtypes.insert(dtype);
  }
  features.narrow_stores =
      physical.features12.storageBuffer8BitAccess && physical.features11.storageBuffer16BitAccess;
  features.local_memory = true;
  features.subgroups = has_vulkan_subgroups(physical);
  return features;
}

std::string vulkan_version_text(uint32_t version) {
  return std::to_string(VK_API_VERSION_MAJOR(version)) + "." +
         std::to_string(VK_API_VERSION_MINOR(version)) + "." +
         std::to_string(VK_API_VERSION_PATCH(version));
}

}  // namespace

VulkanFeatures::VulkanFeatures(const VulkanPhysical& has) {
  features.shaderInt64 = has.features.shaderInt64;
  features.shaderInt16 = has.features.shaderInt16;
  features.shaderFloat64 = has.features.shaderFloat64;
  features11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  features11.storageBuffer16BitAccess = has.features11.storageBuffer16BitAccess;
  features12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  features12.storageBuffer8BitAccess = has.features12.storageBuffer8BitAccess;
  features12.shaderFloat16 = has.features12.shaderFloat16;
  features12.shaderInt8 = has.features12.shaderInt8;
  features12.shaderSubgroupExtendedTypes = has.features12.shaderSubgroupExtendedTypes;
  features12.timelineSemaphore = VK_TRUE;
  subgroup_control.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
  subgroup_control.subgroupSizeControl = has.subgroup_control.subgroupSizeControl;
  subgroup_control.computeFullSubgroups = has.subgroup_control.computeFullSubgroups;
}

Result<std::vector<VulkanPhysical>> find_vulkan_devices(const VulkanInstance& instance) {
  const VulkanFunctions& vk = instance.functions();
  TAPML_ASSIGN(std::vector<VkPhysicalDevice> devices, instance.devices());
  std::vector<VulkanPhysical> found;
  for (VkPhysicalDevice device : devices) {
    VulkanPhysical physical;
    physical.device = device;
    vk.GetPhysicalDeviceProperties(device, &physical.properties);
    if (physical.properties.apiVersion < VK_API_VERSION_1_2) continue;
    if (!has_compute_family(vk, physical)) continue;
    ask_vulkan_driver(vk, physical);
    found.push_back(physical);
  }
  return found;
}

const VulkanPhysical& best_vulkan_device(const std::vector<VulkanPhysical>& devices) {
  return *std::max_element(devices.begin(), devices.end(),
                           [](const VulkanPhysical& a, const VulkanPhysical& b) {
                             return rank_of_vulkan_device(a.properties.deviceType) <
                                    rank_of_vulkan_device(b.properties.deviceType);
                           });
}

DeviceInfo describe_vulkan_device(const VulkanPhysical& physical) {
  DeviceInfo info;
  info.platform = "vulkan";
  info.name = physical.properties.deviceName;
  info.version = "Vulkan " + vulkan_version_text(physical.properties.apiVersion) + ", " +
                 physical.properties12.driverName + " " + physical.properties12.driverInfo;
  info.kind = vulkan_kind(physical);
  info.limits = vulkan_limits(physical);
  info.features = vulkan_features(physical);
  return info;
}

bool may_require_subgroups(const VulkanPhysical& physical, uint32_t width) {
  const VkPhysicalDeviceSubgroupSizeControlProperties& says = physical.subgroup_sizes;
  return physical.subgroup_control.subgroupSizeControl &&
         (says.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
         says.minSubgroupSize <= width && width <= says.maxSubgroupSize;
}

// If 16 and 64 bits depend on each other, a shader that uses both must ask for both.
std::set<uint32_t> kept_denormal_widths(const VulkanPhysical& physical) {
  const VkPhysicalDeviceVulkan12Properties& floats = physical.properties12;
  const VkShaderFloatControlsIndependence independence = floats.denormBehaviorIndependence;
  if (independence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE) return {};
  const bool both = floats.shaderDenormPreserveFloat16 && floats.shaderDenormPreserveFloat64;
  if (both) return {16, 64};
  const bool alone =
      independence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL || !physical.features.shaderFloat64;
  if (alone && floats.shaderDenormPreserveFloat16) return {16};
  return {};
}

bool has_subgroup_width(const VulkanPhysical& physical, uint32_t width) {
  return width == physical.properties11.subgroupSize || may_require_subgroups(physical, width);
}

std::set<uint32_t> vulkan_capabilities(const VulkanPhysical& physical) {
  std::set<uint32_t> known;
  auto add = [&](bool has, SpirvCapability capability, uint32_t after = 0) {
    if (has) known.insert(static_cast<uint32_t>(capability) + after);
  };
  add(true, SpirvCapability::kMatrix);
  add(true, SpirvCapability::kShader);
  VulkanFeatures on(physical);
  add(on.features.shaderInt64, SpirvCapability::kInt64);
  add(on.features.shaderInt16, SpirvCapability::kInt16);
  add(on.features.shaderFloat64, SpirvCapability::kFloat64);
  add(on.features11.storageBuffer16BitAccess, SpirvCapability::kStorageBuffer16);
  add(on.features12.storageBuffer8BitAccess, SpirvCapability::kStorageBuffer8);
  add(on.features12.shaderFloat16, SpirvCapability::kFloat16);
  add(on.features12.shaderInt8, SpirvCapability::kInt8);
  const VkPhysicalDeviceVulkan12Properties& floats = physical.properties12;
  add(floats.shaderDenormPreserveFloat32, SpirvCapability::kDenormPreserve);
  add(floats.shaderDenormFlushToZeroFloat32, SpirvCapability::kDenormFlushToZero);
  add(floats.shaderSignedZeroInfNanPreserveFloat32, SpirvCapability::kSignedZeroInfNanPreserve);
  add(floats.shaderRoundingModeRTEFloat32, SpirvCapability::kRoundingModeRTE);
  if (physical.properties11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) {
    // The capabilities are in the order of the operations' bits.
    for (uint32_t bit = 0; bit < 8; ++bit) {
      bool has = (physical.properties11.subgroupSupportedOperations >> bit & 1) != 0;
      add(has, SpirvCapability::kGroupNonUniform, bit);
    }
  }
  return known;
}

std::string vulkan_build_identity(const VulkanPhysical& physical) {
  const VkPhysicalDeviceProperties& says = physical.properties;
  std::string text = std::string(says.deviceName) + "\n" + physical.properties12.driverName + "\n" +
                     physical.properties12.driverInfo + "\n";
  for (uint32_t number : {says.vendorID, says.deviceID, says.driverVersion, says.apiVersion}) {
    text += std::to_string(number) + "\n";
  }
  for (uint8_t byte : says.pipelineCacheUUID) text += std::to_string(byte) + " ";
  return text;
}

}  // namespace tapml::device
