// Vulkan's functions, fetched from its loader at run time, and its result codes as errors.
#pragma once

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan.h>

#include <string>

#include "base/result.h"

// The functions of Vulkan 1.2 in use, by the object that they are fetched from.
#define TAPML_VULKAN_GLOBAL_FUNCTIONS(F) F(CreateInstance)

#define TAPML_VULKAN_INSTANCE_FUNCTIONS(F)  \
  F(DestroyInstance)                        \
  F(EnumeratePhysicalDevices)               \
  F(GetPhysicalDeviceProperties)            \
  F(GetPhysicalDeviceProperties2)           \
  F(GetPhysicalDeviceFeatures2)             \
  F(GetPhysicalDeviceMemoryProperties)      \
  F(GetPhysicalDeviceQueueFamilyProperties) \
  F(CreateDevice)                           \
  F(GetDeviceProcAddr)

// Functions of an extension; null if it is not enabled.
#define TAPML_VULKAN_DEBUG_FUNCTIONS(F) \
  F(CreateDebugUtilsMessengerEXT)       \
  F(DestroyDebugUtilsMessengerEXT)

#define TAPML_VULKAN_DEVICE_FUNCTIONS(F) \
  F(DestroyDevice)                       \
  F(GetDeviceQueue)                      \
  F(CreateBuffer)                        \
  F(DestroyBuffer)                       \
  F(GetBufferMemoryRequirements)         \
  F(AllocateMemory)                      \
  F(FreeMemory)                          \
  F(BindBufferMemory)                    \
  F(MapMemory)                           \
  F(CreateShaderModule)                  \
  F(DestroyShaderModule)                 \
  F(CreateDescriptorSetLayout)           \
  F(DestroyDescriptorSetLayout)          \
  F(CreatePipelineLayout)                \
  F(DestroyPipelineLayout)               \
  F(CreatePipelineCache)                 \
  F(DestroyPipelineCache)                \
  F(GetPipelineCacheData)                \
  F(CreateComputePipelines)              \
  F(DestroyPipeline)                     \
  F(CreateDescriptorPool)                \
  F(DestroyDescriptorPool)               \
  F(ResetDescriptorPool)                 \
  F(AllocateDescriptorSets)              \
  F(UpdateDescriptorSets)                \
  F(CreateCommandPool)                   \
  F(DestroyCommandPool)                  \
  F(AllocateCommandBuffers)              \
  F(BeginCommandBuffer)                  \
  F(EndCommandBuffer)                    \
  F(CmdBindPipeline)                     \
  F(CmdBindDescriptorSets)               \
  F(CmdPushConstants)                    \
  F(CmdDispatch)                         \
  F(CmdCopyBuffer)                       \
  F(CmdUpdateBuffer)                     \
  F(CmdFillBuffer)                       \
  F(CmdPipelineBarrier)                  \
  F(QueueSubmit)                         \
  F(QueueWaitIdle)                       \
  F(CreateSemaphore)                     \
  F(DestroySemaphore)                    \
  F(GetSemaphoreCounterValue)            \
  F(WaitSemaphores)

namespace tapml::device {

struct VulkanFunctions {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
#define TAPML_VULKAN_MEMBER(name) PFN_vk##name name = nullptr;
  TAPML_VULKAN_GLOBAL_FUNCTIONS(TAPML_VULKAN_MEMBER)
  TAPML_VULKAN_INSTANCE_FUNCTIONS(TAPML_VULKAN_MEMBER)
  TAPML_VULKAN_DEBUG_FUNCTIONS(TAPML_VULKAN_MEMBER)
  TAPML_VULKAN_DEVICE_FUNCTIONS(TAPML_VULKAN_MEMBER)
#undef TAPML_VULKAN_MEMBER

  // Opens the loader, the shared library `file`, which stays open; kAbsent if it is missing.
  static Result<VulkanFunctions> open(const std::string& file);
  Status fetch(VkInstance instance);
  Status fetch(VkDevice device);
};

// The error for a missing platform, with what to install.
Error no_vulkan(const std::string& message);

// "VK_ERROR_DEVICE_LOST", or the number of an unknown code.
std::string vulkan_code_name(VkResult code);
// The failure of `call` as a PlatformError with the matching fault; InternalError for a misuse of
// Vulkan, which is a bug in this program.
Error vulkan_error(VkResult code, const char* call);
// Ok for VK_SUCCESS.
inline Status vulkan_status(VkResult code, const char* call) {
  if (code == VK_SUCCESS) return {};
  return fail(vulkan_error(code, call));
}

}  // namespace tapml::device
