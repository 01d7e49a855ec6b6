#include "device/vulkan/vulkan_launch.h"

#include <algorithm>

#include "device/vulkan/vulkan_describe.h"

namespace tapml::device {

namespace {

using runtime::BufferArg;
using runtime::LaunchArgs;

Status push_constants(const VulkanContext& context, const VulkanKernel& kernel,
                      const VulkanPipeline& pipeline, const LaunchArgs& args,
                      VulkanLaunch::Constants& constants) {
  if (pipeline.buffers != args.buffers.size() ||
      pipeline.push_bytes != 4 * (args.scalars.size() + 1)) {
    return fail(internal_error("kernel " + kernel.entry() + " declares " +
                                   std::to_string(pipeline.buffers) + " buffers and " +
                                   std::to_string(pipeline.push_bytes / 4 - 1) + " scalars for " +
                                   std::to_string(args.buffers.size()) + " buffers and " +
                                   std::to_string(args.scalars.size()) + " scalars",
                               "vulkan"));
  }
  if (args.scalars.size() >= constants.size()) {
    return fail(platform_error(
        PlatformFault::kLimit,
        "kernel " + kernel.entry() + " takes " + std::to_string(args.scalars.size()) + " scalars",
        "vulkan"));
  }
  const int64_t most = context.info.limits.max_workgroup_threads;
  if (args.workgroup_threads > most) {
    return fail(platform_error(PlatformFault::kLimit,
                               "kernel " + kernel.entry() + " asks for work groups of " +
                                   std::to_string(args.workgroup_threads) +
                                   " threads; this device allows " + std::to_string(most),
                               "vulkan"));
  }
  for (size_t i = 0; i <= args.scalars.size(); ++i) {
    const int64_t value = i == 0 ? args.extent : args.scalars[i - 1];
    if (value != static_cast<int32_t>(value)) {
      return fail(platform_error(PlatformFault::kLimit,
                                 (i == 0 ? "the extent" : "scalar " + std::to_string(i - 1)) +
                                     " of kernel " + kernel.entry() + " is " +
                                     std::to_string(value) +
                                     "; kernels on vulkan support only 32-bit integers",
                                 "vulkan"));
    }
    constants[i] = static_cast<int32_t>(value);
  }
  return {};
}

Status check_offsets(const VulkanContext& context, const VulkanKernel& kernel,
                     const LaunchArgs& args) {
  const int64_t alignment = context.info.limits.buffer_alignment;
  for (size_t i = 0; i < args.buffers.size(); ++i) {
    const int64_t offset = args.buffers[i].offset;
    if (offset % alignment == 0) continue;
    return fail(platform_error(PlatformFault::kLimit,
                               "buffer argument " + std::to_string(i) + " of kernel " +
                                   kernel.entry() + " begins at byte " + std::to_string(offset) +
                                   "; this device requires multiples of " +
                                   std::to_string(alignment),
                               "vulkan"));
  }
  return {};
}

// A descriptor set of the launch's buffers, which the batch then keeps.
Result<VkDescriptorSet> describe(const VulkanContext& context, VulkanBatch& batch,
                                 const VulkanPipeline& pipeline, const LaunchArgs& args) {
  std::array<VkDescriptorBufferInfo, kMostVulkanBuffers> infos;
  if (args.buffers.size() > infos.size()) {
    return fail(platform_error(PlatformFault::kLimit,
                               "a launch of " + std::to_string(args.buffers.size()) + " buffers",
                               "vulkan"));
  }
  TAPML_ASSIGN(VkDescriptorSet set, batch.descriptors(pipeline.layout.set, pipeline.buffers));
  const int64_t most = context.info.limits.max_binding_bytes;
  for (size_t i = 0; i < args.buffers.size(); ++i) {
    const BufferArg& buffer = args.buffers[i];
    const std::shared_ptr<VulkanRange>& range = static_cast<VulkanMemory&>(*buffer.memory).range();
    // A binding at the buffer's end is empty, but Vulkan requires at least one byte.
    const int64_t offset = buffer.offset < range->size() ? buffer.offset : 0;
    infos[i].buffer = range->buffer();
    infos[i].offset = range->offset() + static_cast<VkDeviceSize>(offset);
    infos[i].range = static_cast<VkDeviceSize>(std::min(range->size() - offset, most));
    batch.hold(range);
  }
  // Descriptors of one type at consecutive bindings form one update.
  VkWriteDescriptorSet update{};
  update.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
  update.dstSet = set;
  update.descriptorCount = static_cast<uint32_t>(args.buffers.size());
  update.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  update.pBufferInfo = infos.data();
  context.vk.UpdateDescriptorSets(context.handle(), 1, &update, 0, nullptr);
  return set;
}

}  // namespace

Status VulkanLaunch::prepare(const VulkanContext& context, VulkanKernel& kernel,
                             const LaunchArgs& args) {
  TAPML_ASSIGN(pipeline, kernel.pipeline(args.shared));
  TAPML_TRY(push_constants(context, kernel, *pipeline, args, constants));
  TAPML_TRY(check_offsets(context, kernel, args));
  const int64_t asked[] = {(args.extent - 1) / args.workgroup_threads + 1, args.grid[0],
                           args.grid[1]};
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i] = static_cast<uint32_t>(std::min(asked[i], context.max_groups[i]));
  }
  return {};
}

Status VulkanLaunch::record(const VulkanContext& context, VulkanBatch& batch,
                            const LaunchArgs& args) const {
  const VulkanFunctions& vk = context.vk;
  VkCommandBuffer commands = batch.commands();
  vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->pipeline);
  vk.CmdPushConstants(commands, pipeline->layout.pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                      pipeline->push_bytes, constants.data());
  if (!args.buffers.empty()) {
    TAPML_ASSIGN(VkDescriptorSet set, describe(context, batch, *pipeline, args));
    vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->layout.pipeline, 0,
                             1, &set, 0, nullptr);
  }
  vk.CmdDispatch(commands, groups[0], groups[1], groups[2]);
  batch.hold(pipeline);
  return {};
}

void VulkanLaunch::add_to_key(VulkanRecordings::Key& key, const LaunchArgs& args) const {
  key.push_back(reinterpret_cast<uintptr_t>(pipeline.get()));
  key.insert(key.end(), groups.begin(), groups.end());
  for (const BufferArg& buffer : args.buffers) {
    key.push_back(
        reinterpret_cast<uintptr_t>(static_cast<VulkanMemory&>(*buffer.memory).range().get()));
    key.push_back(static_cast<uint64_t>(buffer.offset));
  }
  const uint32_t used = pipeline->push_bytes / 4;
  for (uint32_t i = 0; i < used; ++i) {
    key.push_back(static_cast<uint64_t>(constants[i]));
  }
}

}  // namespace tapml::device
