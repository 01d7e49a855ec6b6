#include "device/vulkan/vulkan_batch.h"

namespace tapml::device {

namespace {

// Sizes of a descriptor pool. A launch has fewer buffers, by the session's limit.
constexpr uint32_t kPoolSets = VulkanBatch::kMostCommands;
constexpr uint32_t kPoolBuffers = 512;

constexpr VkPipelineStageFlags kWorkStages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;

}  // namespace

Result<std::shared_ptr<VulkanTimeline>> VulkanTimeline::create(
    const std::shared_ptr<VulkanContext>& context) {
  auto timeline = std::make_shared<VulkanTimeline>(context);
  if (const auto kept = context->take_semaphore()) {
    timeline->handle = kept->handle;
    timeline->last = kept->value;
    return timeline;
  }
  VkSemaphoreTypeCreateInfo type{};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  info.pNext = &type;
  TAPML_TRY(context->status(
      context->vk.CreateSemaphore(context->handle(), &info, nullptr, &timeline->handle),
      "vkCreateSemaphore"));
  return timeline;
}

VulkanBatch::~VulkanBatch() {
  for (const Pool& pool : pools_) {
    context_->vk.DestroyDescriptorPool(context_->handle(), pool.handle, nullptr);
  }
}

Status VulkanBatch::begin(bool again) {
  VkCommandBufferBeginInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  info.flags = again ? 0 : VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  return context_->status(context_->vk.BeginCommandBuffer(commands_, &info),
                          "vkBeginCommandBuffer");
}

Status VulkanBatch::end() {
  // Makes writes visible to the host once the batch is done.
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT;
  context_->vk.CmdPipelineBarrier(commands_, kWorkStages, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                                  &barrier, 0, nullptr, 0, nullptr);
  return context_->status(context_->vk.EndCommandBuffer(commands_), "vkEndCommandBuffer");
}

void VulkanBatch::done() {
  in_flight = false;
  if (is_kept()) {
    held_.clear();
  } else {
    reset();
  }
}

void VulkanBatch::keep() { kept_.assign(held_.begin(), held_.end()); }

bool VulkanBatch::hold_again() {
  for (const std::weak_ptr<const void>& object : kept_) {
    std::shared_ptr<const void> held = object.lock();
    if (!held) {
      held_.clear();
      return false;
    }
    held_.push_back(std::move(held));
  }
  return true;
}

void VulkanBatch::reset() {
  in_flight = false;
  for (Pool& pool : pools_) {
    // Always succeeds.
    context_->vk.ResetDescriptorPool(context_->handle(), pool.handle, 0);
    pool.sets = kPoolSets;
    pool.buffers = kPoolBuffers;
  }
  pool_ = 0;
  count_ = 0;
  staging_bytes_ = 0;
  held_.clear();
  kept_.clear();
}

void VulkanBatch::next() {
  ++count_;
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                          VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  context_->vk.CmdPipelineBarrier(commands_, kWorkStages, kWorkStages, 0, 1, &barrier, 0, nullptr,
                                  0, nullptr);
}

Status VulkanBatch::add_pool() {
  VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kPoolBuffers};
  VkDescriptorPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  info.maxSets = kPoolSets;
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  Pool pool{VK_NULL_HANDLE, kPoolSets, kPoolBuffers};
  TAPML_TRY(context_->status(
      context_->vk.CreateDescriptorPool(context_->handle(), &info, nullptr, &pool.handle),
      "vkCreateDescriptorPool"));
  pools_.push_back(pool);
  return {};
}

Result<VkDescriptorSet> VulkanBatch::descriptors(VkDescriptorSetLayout layout, uint32_t buffers) {
  if (buffers > kPoolBuffers) {
    return fail(platform_error(PlatformFault::kLimit,
                               "a launch of " + std::to_string(buffers) + " buffers", "vulkan"));
  }
  while (pool_ < pools_.size() && (pools_[pool_].sets == 0 || pools_[pool_].buffers < buffers)) {
    ++pool_;
  }
  if (pool_ == pools_.size()) TAPML_TRY(add_pool());
  Pool& pool = pools_[pool_];
  VkDescriptorSetAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  info.descriptorPool = pool.handle;
  info.descriptorSetCount = 1;
  info.pSetLayouts = &layout;
  VkDescriptorSet set = VK_NULL_HANDLE;
  TAPML_TRY(context_->status(context_->vk.AllocateDescriptorSets(context_->handle(), &info, &set),
                             "vkAllocateDescriptorSets"));
  --pool.sets;
  pool.buffers -= buffers;
  return set;
}

}  // namespace tapml::device
