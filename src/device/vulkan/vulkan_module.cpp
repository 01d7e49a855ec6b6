#include <algorithm>

#include "device/vulkan/vulkan_context.h"
#include "device/vulkan/vulkan_pipeline_cache.h"

namespace tapml::device {

namespace {

using runtime::DeviceKernel;
using runtime::DeviceModule;

struct VulkanEntry {
  SpirvKernel code;
  std::shared_ptr<VulkanKernel> kernel;  // null: not made yet
};

class VulkanModule final : public DeviceModule {
 public:
  VulkanModule(std::shared_ptr<VulkanContext> context, std::map<std::string, VulkanEntry> entries,
               std::unique_ptr<VulkanPipelineCache> cache)
      : context_(std::move(context)), entries_(std::move(entries)), cache_(std::move(cache)) {}

  Result<std::shared_ptr<DeviceKernel>> kernel(const std::string& name) noexcept override {
    std::lock_guard guard(lock_);
    auto found = entries_.find(name);
    if (found == entries_.end()) {
      return fail(internal_error("the module has no entry " + name, "vulkan"));
    }
    VulkanEntry& entry = found->second;
    if (!entry.kernel) {
      TAPML_TRY(context_->alive());
      TAPML_TRY(check_limits(entry.code));
      TAPML_ASSIGN(std::shared_ptr<VulkanPipeline> pipeline, make_pipeline(entry.code));
      TAPML_TRY(context_->valid());
      entry.kernel = std::make_shared<VulkanKernel>(name, std::move(pipeline));
      entry.code.words = {};
      cache_->grown();
    }
    return entry.kernel;
  }

 private:
  // Drivers do not check these.
  Status check_limits(const SpirvKernel& code) const {
    auto refuse = [&](const std::string& what, int64_t asked, int64_t most) -> Status {
      if (asked <= most) return {};
      return fail(platform_error(PlatformFault::kLimit,
                                 "kernel " + code.name + " needs " + std::to_string(asked) + " " +
                                     what + "; this device allows " + std::to_string(most),
                                 "vulkan"));
    };
    const Limits& limits = context_->info.limits;
    const VkPhysicalDeviceLimits& says = context_->physical().properties.limits;
    TAPML_TRY(refuse("buffers", code.buffers, limits.max_bindings));
    TAPML_TRY(refuse("bytes of push constants", code.push_bytes, says.maxPushConstantsSize));
    int64_t threads = 1;
    for (int i = 0; i < 3; ++i) {
      TAPML_TRY(refuse("threads in a dimension of a work group", code.facts.group[i],
                       says.maxComputeWorkGroupSize[i]));
      threads *= std::max<int64_t>(1, code.facts.group[i]);
      TAPML_TRY(refuse("threads in a work group", threads, says.maxComputeWorkGroupInvocations));
    }
    for (uint32_t capability : code.facts.capabilities) {
      if (context_->capabilities.contains(capability)) continue;
      return fail(platform_error(PlatformFault::kLimit,
                                 "kernel " + code.name + " needs SPIR-V's capability " +
                                     std::to_string(capability) + ", which this device lacks",
                                 "vulkan"));
    }
    return {};
  }

  Result<std::shared_ptr<VulkanPipeline>> make_pipeline(const SpirvKernel& code) {
    const VulkanFunctions& vk = context_->vk;
    TAPML_ASSIGN(VulkanLayout layout, context_->layout(code.buffers, code.push_bytes));
    auto made = std::make_shared<VulkanPipeline>(context_, layout);
    made->buffers = code.buffers;
    made->push_bytes = code.push_bytes;
    VkShaderModuleCreateInfo shader{};
    shader.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    shader.codeSize = 4 * code.words.size();
    shader.pCode = code.words.data();
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.pName = "main";
    info.layout = layout.pipeline;
    TAPML_TRY(context_->status(
        vk.CreateShaderModule(context_->handle(), &shader, nullptr, &info.stage.module),
        "vkCreateShaderModule"));
    VkResult result = vk.CreateComputePipelines(context_->handle(), cache_->handle(), 1, &info,
                                                nullptr, &made->pipeline);
    vk.DestroyShaderModule(context_->handle(), info.stage.module, nullptr);
    TAPML_TRY(context_->status(result, "vkCreateComputePipelines"));
    return made;
  }

  std::shared_ptr<VulkanContext> context_;
  std::mutex lock_;
  std::map<std::string, VulkanEntry> entries_;
  std::unique_ptr<VulkanPipelineCache> cache_;
};

}  // namespace

Result<std::shared_ptr<DeviceModule>> load_vulkan_module(std::shared_ptr<VulkanContext> context,
                                                         const ModuleBlob& blob) {
  TAPML_ASSIGN(std::vector<SpirvKernel> kernels, read_spirv_module(blob));
  std::map<std::string, VulkanEntry> entries;
  for (SpirvKernel& kernel : kernels) {
    std::string name = kernel.name;
    if (!entries.emplace(name, VulkanEntry{std::move(kernel), nullptr}).second) {
      return fail(internal_error("the SPIR-V module has two kernels " + name, "vulkan"));
    }
  }
  TAPML_ASSIGN(std::unique_ptr<VulkanPipelineCache> cache,
               VulkanPipelineCache::open(context, blob.bytes));
  return std::make_shared<VulkanModule>(std::move(context), std::move(entries), std::move(cache));
}

}  // namespace tapml::device
