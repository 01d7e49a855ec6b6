#include "device/vulkan/vulkan_functions.h"

#include <dlfcn.h>

#include <array>

namespace tapml::device {

namespace {

struct VulkanCode {
  VkResult code;
  const char* name;
  PlatformFault fault;  // kNone: a misuse of Vulkan
};

constexpr auto kVulkanCodes = std::to_array<VulkanCode>({
    {VK_ERROR_INCOMPATIBLE_DRIVER, "VK_ERROR_INCOMPATIBLE_DRIVER", PlatformFault::kAbsent},
    {VK_ERROR_LAYER_NOT_PRESENT, "VK_ERROR_LAYER_NOT_PRESENT", PlatformFault::kAbsent},
    {VK_ERROR_EXTENSION_NOT_PRESENT, "VK_ERROR_EXTENSION_NOT_PRESENT", PlatformFault::kAbsent},
    {VK_ERROR_FEATURE_NOT_PRESENT, "VK_ERROR_FEATURE_NOT_PRESENT", PlatformFault::kAbsent},
    {VK_ERROR_INITIALIZATION_FAILED, "VK_ERROR_INITIALIZATION_FAILED", PlatformFault::kAbsent},
    {VK_ERROR_DEVICE_LOST, "VK_ERROR_DEVICE_LOST", PlatformFault::kLost},
    {VK_ERROR_OUT_OF_HOST_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY", PlatformFault::kOutOfMemory},
    {VK_ERROR_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY", PlatformFault::kOutOfMemory},
    {VK_ERROR_OUT_OF_POOL_MEMORY, "VK_ERROR_OUT_OF_POOL_MEMORY", PlatformFault::kOutOfMemory},
    {VK_ERROR_FRAGMENTED_POOL, "VK_ERROR_FRAGMENTED_POOL", PlatformFault::kOutOfMemory},
    {VK_ERROR_MEMORY_MAP_FAILED, "VK_ERROR_MEMORY_MAP_FAILED", PlatformFault::kOutOfMemory},
    {VK_ERROR_TOO_MANY_OBJECTS, "VK_ERROR_TOO_MANY_OBJECTS", PlatformFault::kLimit},
    {VK_TIMEOUT, "VK_TIMEOUT", PlatformFault::kTimeout},
    {VK_ERROR_UNKNOWN, "VK_ERROR_UNKNOWN", PlatformFault::kNone},
});

const VulkanCode* find_vulkan_code(VkResult code) {
  for (const VulkanCode& known : kVulkanCodes) {
    if (known.code == code) return &known;
  }
  return nullptr;
}

Error no_vulkan_function(const char* name) {
  return no_vulkan(std::string("the Vulkan loader has no function vk") + name);
}

}  // namespace

Error no_vulkan(const std::string& message) {
  return platform_error(
      PlatformFault::kAbsent, message, "vulkan",
      "install the packages libvulkan1 and mesa-vulkan-drivers (runs on the processor) or the "
      "driver of the GPU's vendor");
}

std::string vulkan_code_name(VkResult code) {
  const VulkanCode* known = find_vulkan_code(code);
  return known ? known->name : "Vulkan error " + std::to_string(code);
}

Error vulkan_error(VkResult code, const char* call) {
  const VulkanCode* known = find_vulkan_code(code);
  std::string message =
      std::string("the Vulkan driver fails in ") + call + ": " + vulkan_code_name(code);
  if (!known || known->fault == PlatformFault::kNone) return internal_error(message, "vulkan");
  if (known->fault == PlatformFault::kAbsent) return no_vulkan(message);
  return platform_error(known->fault, message, "vulkan");
}

Result<VulkanFunctions> VulkanFunctions::open(const std::string& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    Error error = no_vulkan("the Vulkan loader " + file + " cannot be opened");
    if (const char* why = dlerror()) error.found = why;
    return fail(std::move(error));
  }
  VulkanFunctions vk;
  vk.GetInstanceProcAddr =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  if (!vk.GetInstanceProcAddr) return fail(no_vulkan_function("GetInstanceProcAddr"));
#define TAPML_VULKAN_FETCH(name)                                                                \
  vk.name = reinterpret_cast<PFN_vk##name>(vk.GetInstanceProcAddr(VK_NULL_HANDLE, "vk" #name)); \
  if (!vk.name) return fail(no_vulkan_function(#name));
  TAPML_VULKAN_GLOBAL_FUNCTIONS(TAPML_VULKAN_FETCH)
#undef TAPML_VULKAN_FETCH
  return vk;
}

Status VulkanFunctions::fetch(VkInstance instance) {
#define TAPML_VULKAN_FETCH(name) \
  name = reinterpret_cast<PFN_vk##name>(GetInstanceProcAddr(instance, "vk" #name));
  TAPML_VULKAN_DEBUG_FUNCTIONS(TAPML_VULKAN_FETCH)
#undef TAPML_VULKAN_FETCH
#define TAPML_VULKAN_FETCH(name)                                                    \
  name = reinterpret_cast<PFN_vk##name>(GetInstanceProcAddr(instance, "vk" #name)); \
  if (!name) return fail(no_vulkan_function(#name));
  TAPML_VULKAN_INSTANCE_FUNCTIONS(TAPML_VULKAN_FETCH)
#undef TAPML_VULKAN_FETCH
  return {};
}

Status VulkanFunctions::fetch(VkDevice device) {
#define TAPML_VULKAN_FETCH(name)                                                \
  name = reinterpret_cast<PFN_vk##name>(GetDeviceProcAddr(device, "vk" #name)); \
  if (!name) return fail(no_vulkan_function(#name));
  TAPML_VULKAN_DEVICE_FUNCTIONS(TAPML_VULKAN_FETCH)
#undef TAPML_VULKAN_FETCH
  return {};
}

}  // namespace tapml::device
