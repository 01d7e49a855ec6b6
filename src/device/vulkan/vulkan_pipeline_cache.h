// The compiled pipelines of one module, kept on disk between processes.
#pragma once

#include "device/vulkan/vulkan_context.h"

namespace tapml::device {

class VulkanPipelineCache {
 public:
  // Starts with the data that an earlier process stored for this module's bytes, if the device's
  // disk cache has it and it is from the same device and driver.
  static Result<std::unique_ptr<VulkanPipelineCache>> open(
      const std::shared_ptr<VulkanContext>& context, std::span<const std::byte> module);
  ~VulkanPipelineCache();
  VulkanPipelineCache(const VulkanPipelineCache&) = delete;
  VulkanPipelineCache& operator=(const VulkanPipelineCache&) = delete;

  VkPipelineCache handle() const { return cache_; }
  // Reports a new pipeline. The cache is stored each time the number of pipelines has doubled, and
  // at the end, so a killed process loses little. Thread-safe.
  void grown();

 private:
  explicit VulkanPipelineCache(std::shared_ptr<VulkanContext> context)
      : context_(std::move(context)) {}
  void keep();

  std::shared_ptr<VulkanContext> context_;
  std::string key_;  // empty: nothing is stored
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::mutex lock_;              // guards the members below
  std::vector<std::byte> kept_;  // bytes on disk
  int64_t made_ = 0;             // number of pipelines
  int64_t saved_ = 0;            // value of made_ at the last keep()
};

}  // namespace tapml::device
