// Memory of a Vulkan device: small ranges share blocks, large ones have their own.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "device/vulkan/vulkan_functions.h"

namespace tapml::device {

// A buffer with its own memory, and its host address if it is mapped.
struct VulkanBlock {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  std::byte* address = nullptr;
  int64_t size = 0;
  std::map<int64_t, int64_t> free;  // offset -> size of unused parts, never adjacent
};

class VulkanHeap;

// A part of a block, freed with the object.
class VulkanRange {
 public:
  VulkanRange(VulkanHeap& heap, std::list<VulkanBlock>::iterator block, int64_t offset,
              int64_t size)
      : heap_(heap), block_(block), offset_(offset), size_(size) {}
  ~VulkanRange();
  VulkanRange(const VulkanRange&) = delete;
  VulkanRange& operator=(const VulkanRange&) = delete;

  VkBuffer buffer() const { return block_->buffer; }
  VkDeviceSize offset() const { return static_cast<VkDeviceSize>(offset_); }
  // At least the requested size: a multiple of VulkanHeap::kAlignment.
  int64_t size() const { return size_; }
  // Null if the host cannot access it.
  std::byte* address() const { return block_->address ? block_->address + offset_ : nullptr; }

 private:
  friend class VulkanHeap;
  VulkanHeap& heap_;
  std::list<VulkanBlock>::iterator block_;
  int64_t offset_, size_;
};

// A heap of one memory type. Thread-safe.
class VulkanHeap {
 public:
  // Of ranges, within their block and in host memory (there at most what mapping guarantees).
  static constexpr int64_t kAlignment = 256;
  static constexpr int64_t kBlockBytes = int64_t{32} << 20;
  // Larger ranges have their own block.
  static constexpr int64_t kLargestShared = kBlockBytes / 8;

  // `most` bytes in total; 0: limited only by the driver.
  VulkanHeap(const VulkanFunctions& vk, VkDevice device, uint32_t type, bool mapped, int64_t most)
      : vk_(vk), device_(device), type_(type), mapped_(mapped), most_(most) {}
  ~VulkanHeap();
  VulkanHeap(const VulkanHeap&) = delete;
  VulkanHeap& operator=(const VulkanHeap&) = delete;

  // Fails with kOutOfMemory. The heap must outlive its ranges.
  Result<std::shared_ptr<VulkanRange>> allocate(int64_t bytes);
  int64_t blocks();

 private:
  friend class VulkanRange;
  using Blocks = std::list<VulkanBlock>;

  Result<Blocks::iterator> add_block(int64_t size);
  Status fill_block(VulkanBlock& block);
  void destroy(VulkanBlock& block);
  void put_back(const VulkanRange& range);

  const VulkanFunctions& vk_;
  VkDevice device_;
  uint32_t type_;
  bool mapped_;
  int64_t most_;
  std::mutex lock_;
  Blocks blocks_;
  int64_t total_ = 0;  // bytes of all blocks
};

// The usage flags of a buffer for kernels and copies.
VkBufferCreateInfo vulkan_buffer_info(int64_t size);

}  // namespace tapml::device
