#include "device/vulkan/vulkan_heap.h"

#include <algorithm>
#include <iterator>

#include "base/rounding.h"

namespace tapml::device {

VkBufferCreateInfo vulkan_buffer_info(int64_t size) {
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = static_cast<VkDeviceSize>(size);
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  return info;
}

VulkanRange::~VulkanRange() { heap_.put_back(*this); }

VulkanHeap::~VulkanHeap() {
  for (VulkanBlock& block : blocks_) destroy(block);
}

int64_t VulkanHeap::blocks() {
  std::lock_guard guard(lock_);
  return static_cast<int64_t>(blocks_.size());
}

void VulkanHeap::destroy(VulkanBlock& block) {
  vk_.DestroyBuffer(device_, block.buffer, nullptr);
  vk_.FreeMemory(device_, block.memory, nullptr);
}

Status VulkanHeap::fill_block(VulkanBlock& block) {
  VkBufferCreateInfo info = vulkan_buffer_info(block.size);
  TAPML_TRY(
      vulkan_status(vk_.CreateBuffer(device_, &info, nullptr, &block.buffer), "vkCreateBuffer"));
  VkMemoryRequirements needs{};
  vk_.GetBufferMemoryRequirements(device_, block.buffer, &needs);
  VkMemoryAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocation.allocationSize = needs.size;
  allocation.memoryTypeIndex = type_;
  TAPML_TRY(vulkan_status(vk_.AllocateMemory(device_, &allocation, nullptr, &block.memory),
                          "vkAllocateMemory"));
  TAPML_TRY(vulkan_status(vk_.BindBufferMemory(device_, block.buffer, block.memory, 0),
                          "vkBindBufferMemory"));
  if (!mapped_) return {};
  void* address = nullptr;
  TAPML_TRY(vulkan_status(vk_.MapMemory(device_, block.memory, 0, VK_WHOLE_SIZE, 0, &address),
                          "vkMapMemory"));
  block.address = static_cast<std::byte*>(address);
  return {};
}

Result<VulkanHeap::Blocks::iterator> VulkanHeap::add_block(int64_t size) {
  if (most_ > 0 && size > most_ - total_) {
    return fail(platform_error(
        PlatformFault::kOutOfMemory,
        std::to_string(total_) + " of " + std::to_string(most_) + " bytes are in use", "vulkan"));
  }
  VulkanBlock block;
  block.size = size;
  Status filled = fill_block(block);
  if (!filled) {
    destroy(block);
    return fail(std::move(filled).error());
  }
  block.free.emplace(0, size);
  total_ += size;
  blocks_.push_back(std::move(block));
  return std::prev(blocks_.end());
}

Result<std::shared_ptr<VulkanRange>> VulkanHeap::allocate(int64_t bytes) {
  if (bytes > INT64_MAX - kAlignment) bytes = INT64_MAX - kAlignment;
  const int64_t size = std::max(kAlignment, round_up(bytes, kAlignment));
  std::lock_guard guard(lock_);
  auto take = [&](Blocks::iterator block, std::map<int64_t, int64_t>::iterator part) {
    const auto [offset, length] = *part;
    block->free.erase(part);
    if (length > size) block->free.emplace(offset + size, length - size);
    return std::make_shared<VulkanRange>(*this, block, offset, size);
  };
  if (size <= kLargestShared) {
    for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
      if (block->size != kBlockBytes) continue;
      auto part = std::find_if(block->free.begin(), block->free.end(),
                               [&](const auto& one) { return one.second >= size; });
      if (part != block->free.end()) return take(block, part);
    }
  }
  Result<Blocks::iterator> block = add_block(size <= kLargestShared ? kBlockBytes : size);
  // If there is no memory for a whole block, the range alone may fit.
  if (!block && size <= kLargestShared && block.error().fault == PlatformFault::kOutOfMemory) {
    block = add_block(size);
  }
  if (!block) {
    Error error = std::move(block).error();
    error.message = "no memory for " + std::to_string(bytes) + " bytes: " + error.message;
    return fail(std::move(error));
  }
  return take(*block, (*block)->free.begin());
}

void VulkanHeap::put_back(const VulkanRange& range) {
  std::lock_guard guard(lock_);
  VulkanBlock& block = *range.block_;
  auto part = block.free.emplace(range.offset_, range.size_).first;
  auto after = std::next(part);
  if (after != block.free.end() && part->first + part->second == after->first) {
    part->second += after->second;
    block.free.erase(after);
  }
  if (part != block.free.begin()) {
    auto before = std::prev(part);
    if (before->first + before->second == part->first) {
      before->second += part->second;
      block.free.erase(part);
    }
  }
  if (block.free.size() != 1 || block.free.begin()->second != block.size) return;
  // One empty block stays, so that allocating and freeing one buffer repeatedly needs no driver
  // calls.
  if (block.size == kBlockBytes) {
    auto shared = std::count_if(blocks_.begin(), blocks_.end(),
                                [](const VulkanBlock& one) { return one.size == kBlockBytes; });
    if (shared == 1) return;
  }
  total_ -= block.size;
  destroy(block);
  blocks_.erase(range.block_);
}

}  // namespace tapml::device
