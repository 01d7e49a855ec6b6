// A kernel of a module; the first launch creates its pipeline.
#pragma once

#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "device/vulkan/vulkan_pipeline_cache.h"

namespace tapml::device {

// A pipeline; work in progress keeps it alive.
struct VulkanPipeline {
  VulkanPipeline(std::shared_ptr<VulkanContext> context, VulkanLayout layout)
      : context(std::move(context)), layout(layout) {}
  ~VulkanPipeline() {
    if (pipeline) context->vk.DestroyPipeline(context->handle(), pipeline, nullptr);
  }
  VulkanPipeline(const VulkanPipeline&) = delete;
  VulkanPipeline& operator=(const VulkanPipeline&) = delete;

  const std::shared_ptr<VulkanContext> context;
  const VulkanLayout layout;
  VkPipeline pipeline = VK_NULL_HANDLE;
  uint32_t buffers = 0;
  uint32_t push_bytes = 0;
};

class VulkanKernel final : public runtime::DeviceKernel {
 public:
  // kLimit if the device's limits are below what the code needs: drivers do not check that.
  static Result<std::shared_ptr<VulkanKernel>> create(std::shared_ptr<VulkanContext> context,
                                                      std::shared_ptr<VulkanPipelineCache> cache,
                                                      SpirvKernel code);

  const std::string& entry() const { return code_.name; }
  // The pipeline for shared buffers of these sizes. Created by the first call: drivers are slow for
  // large kernels, and many kernels of a module are never launched (those for tensors that exceed a
  // binding). Thread-safe.
  Result<std::shared_ptr<VulkanPipeline>> pipeline(std::span<const SharedSize> shared);

 private:
  VulkanKernel(std::shared_ptr<VulkanContext> context, std::shared_ptr<VulkanPipelineCache> cache,
               SpirvKernel code)
      : context_(std::move(context)), cache_(std::move(cache)), code_(std::move(code)) {}
  Status check_limits() const;
  using Sizes = std::vector<int32_t>;  // elements of the shared buffers
  Result<std::shared_ptr<VulkanPipeline>> make_pipeline(const Sizes& sizes) const;

  const std::shared_ptr<VulkanContext> context_;
  const std::shared_ptr<VulkanPipelineCache> cache_;
  std::mutex lock_;
  SpirvKernel code_;  // without words after the only pipeline is created
  // The newest ones, the last created first.
  std::vector<std::pair<Sizes, std::shared_ptr<VulkanPipeline>>> pipelines_;
};

}  // namespace tapml::device
