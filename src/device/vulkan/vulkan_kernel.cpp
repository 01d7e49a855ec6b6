#include "device/vulkan/vulkan_kernel.h"

#include <algorithm>
#include <utility>

namespace tapml::device {

Result<std::shared_ptr<VulkanKernel>> VulkanKernel::create(
    std::shared_ptr<VulkanContext> context, std::shared_ptr<VulkanPipelineCache> cache,
    SpirvKernel code) {
  std::shared_ptr<VulkanKernel> kernel(
      new VulkanKernel(std::move(context), std::move(cache), std::move(code)));
  TAPML_TRY(kernel->check_limits());
  return kernel;
}

Result<std::shared_ptr<VulkanPipeline>> VulkanKernel::pipeline(std::span<const SharedSize> shared) {
  // A size is part of the pipeline: a long generation may see thousands.
  constexpr size_t kMostPipelines = 32;
  if (shared.size() != code_.facts.sized_shared) {
    return fail(
        internal_error("kernel " + code_.name + " has " + std::to_string(code_.facts.sized_shared) +
                           " shared buffers of symbolic size, not " + std::to_string(shared.size()),
                       "vulkan"));
  }
  Sizes sizes;
  for (const SharedSize& size : shared) {
    if (!std::in_range<int32_t>(size.elements)) {
      return fail(platform_error(PlatformFault::kLimit,
                                 "kernel " + code_.name + " needs a shared buffer of " +
                                     std::to_string(size.elements) + " elements",
                                 "vulkan"));
    }
    sizes.push_back(static_cast<int32_t>(size.elements));
  }
  std::lock_guard guard(lock_);
  for (const auto& [of, pipeline] : pipelines_) {
    if (of == sizes) return pipeline;
  }
  TAPML_TRY(context_->alive());
  TAPML_ASSIGN(std::shared_ptr<VulkanPipeline> made, make_pipeline(sizes));
  TAPML_TRY(context_->valid());
  if (sizes.empty()) code_.words = {};
  if (pipelines_.size() >= kMostPipelines) pipelines_.pop_back();
  pipelines_.emplace(pipelines_.begin(), std::move(sizes), made);
  cache_->grown();
  return made;
}

Status VulkanKernel::check_limits() const {
  auto refuse = [&](const std::string& what, int64_t asked, int64_t most) -> Status {
    if (asked <= most) return {};
    return fail(platform_error(PlatformFault::kLimit,
                               "kernel " + code_.name + " needs " + std::to_string(asked) + " " +
                                   what + "; this device allows " + std::to_string(most),
                               "vulkan"));
  };
  const Limits& limits = context_->info.limits;
  const VkPhysicalDeviceLimits& says = context_->physical().properties.limits;
  TAPML_TRY(refuse("buffers", code_.buffers, limits.max_bindings));
  TAPML_TRY(refuse("bytes of push constants", code_.push_bytes, says.maxPushConstantsSize));
  int64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    TAPML_TRY(refuse("threads in a dimension of a work group", code_.facts.group[i],
                     says.maxComputeWorkGroupSize[i]));
    threads *= std::max<int64_t>(1, code_.facts.group[i]);
    TAPML_TRY(refuse("threads in a work group", threads, says.maxComputeWorkGroupInvocations));
  }
  for (uint32_t capability : code_.facts.capabilities) {
    if (context_->capabilities.contains(capability)) continue;
    return fail(platform_error(PlatformFault::kLimit,
                               "kernel " + code_.name + " needs SPIR-V capability " +
                                   std::to_string(capability) + ", which this device lacks",
                               "vulkan"));
  }
  const uint32_t width = code_.facts.subgroup_width;
  if (width == 0 || has_subgroup_width(context_->physical(), width)) return {};
  return fail(
      platform_error(PlatformFault::kLimit,
                     "kernel " + code_.name + " is made for subgroups of " + std::to_string(width) +
                         " threads; this device's have " +
                         std::to_string(context_->physical().properties11.subgroupSize) +
                         " (compile with subgroups=0 or that number as an option of the target)",
                     "vulkan"));
}

Result<std::shared_ptr<VulkanPipeline>> VulkanKernel::make_pipeline(const Sizes& sizes) const {
  const VulkanFunctions& vk = context_->vk;
  TAPML_ASSIGN(VulkanLayout layout, context_->layout(code_.buffers, code_.push_bytes));
  auto made = std::make_shared<VulkanPipeline>(context_, layout);
  made->buffers = code_.buffers;
  made->push_bytes = code_.push_bytes;
  VkShaderModuleCreateInfo shader{};
  shader.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  const std::vector<uint32_t> words =
      context_->keeps_denormals()
          ? with_denormals(code_.words, kept_denormal_widths(context_->physical()))
          : code_.words;
  shader.codeSize = 4 * words.size();
  shader.pCode = words.data();
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.pName = "main";
  info.layout = layout.pipeline;
  std::vector<VkSpecializationMapEntry> constants;
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    constants.push_back(
        {kFirstSizedShared + i, static_cast<uint32_t>(i * sizeof(int32_t)), sizeof(int32_t)});
  }
  VkSpecializationInfo specialization{};
  specialization.mapEntryCount = static_cast<uint32_t>(constants.size());
  specialization.pMapEntries = constants.data();
  specialization.dataSize = sizes.size() * sizeof(int32_t);
  specialization.pData = sizes.data();
  if (!sizes.empty()) info.stage.pSpecializationInfo = &specialization;
  // If no width can be requested, all pipelines have the same one, and groups are divisible by it.
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroups{};
  subgroups.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
  subgroups.requiredSubgroupSize = code_.facts.subgroup_width;
  if (code_.facts.subgroup_width > 0) {
    const VulkanPhysical& physical = context_->physical();
    if (may_require_subgroups(physical, code_.facts.subgroup_width)) info.stage.pNext = &subgroups;
    if (physical.subgroup_control.computeFullSubgroups) {
      info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    }
  }
  TAPML_TRY(context_->status(
      vk.CreateShaderModule(context_->handle(), &shader, nullptr, &info.stage.module),
      "vkCreateShaderModule"));
  VkResult result = vk.CreateComputePipelines(context_->handle(), cache_->handle(), 1, &info,
                                              nullptr, &made->pipeline);
  vk.DestroyShaderModule(context_->handle(), info.stage.module, nullptr);
  TAPML_TRY(context_->status(result, "vkCreateComputePipelines"));
  return made;
}

}  // namespace tapml::device
