// The compiled pipelines of one module, kept on disk between processes.
#pragma once

#include "device/vulkan/vulkan_context.h"

namespace tapml::device {

class VulkanPipelineCache {
 public:
  // With what an earlier process kept for this module's bytes, where the device's disk store has
  // it and it is of this very device and driver.
  static Result<std::unique_ptr<VulkanPipelineCache>> open(
      const std::shared_ptr<VulkanContext>& context, std::span<const std::byte> module);
  ~VulkanPipelineCache();
  VulkanPipelineCache(const VulkanPipelineCache&) = delete;
  VulkanPipelineCache& operator=(const VulkanPipelineCache&) = delete;

  VkPipelineCache handle() const { return cache_; }
  // Another pipeline was made. What there is is kept each time their number has doubled, and at
  // the end, so that a process that is killed loses little. Any thread.
  void grown();

 private:
  explicit VulkanPipelineCache(std::shared_ptr<VulkanContext> context)
      : context_(std::move(context)) {}
  void keep();

  std::shared_ptr<VulkanContext> context_;
  std::string key_;  // empty: nothing is kept
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::mutex lock_;              // guards what follows
  std::vector<std::byte> kept_;  // bytes on disk
  int64_t made_ = 0;             // pipelines
  int64_t saved_ = 0;            // of these, when keep() ran last
};

}  // namespace tapml::device
