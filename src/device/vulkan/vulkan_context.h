// State that the parts of one Vulkan device share.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>

#include "device/vulkan/vulkan_describe.h"
#include "device/vulkan/vulkan_heap.h"
#include "device/vulkan/vulkan_spirv.h"

namespace tapml::device {

// The layouts of kernels with the same number of storage buffers and bytes of push constants.
struct VulkanLayout {
  VkDescriptorSetLayout set = VK_NULL_HANDLE;
  VkPipelineLayout pipeline = VK_NULL_HANDLE;
};

// The context's interface to a queue.
class VulkanWork {
 public:
  virtual ~VulkanWork() = default;
  // Waits until all enqueued work is done, and releases its resources.
  virtual void settle() = 0;
};

// An unused timeline semaphore, at its last signaled value.
struct KeptSemaphore {
  VkSemaphore handle = VK_NULL_HANDLE;
  uint64_t value = 0;
};

class VulkanContext {
 public:
  static Result<std::shared_ptr<VulkanContext>> open(const VulkanOptions& options);
  ~VulkanContext();
  VulkanContext(const VulkanContext&) = delete;
  VulkanContext& operator=(const VulkanContext&) = delete;

  // Kernels of the same signature share a layout.
  Result<VulkanLayout> layout(uint32_t buffers, uint32_t push_bytes);
  Status submit(const VkSubmitInfo& info);
  // Queues keep memory that their work uses, even if it was released: if memory runs out, waits for
  // all of them and retries.
  Result<std::shared_ptr<VulkanRange>> allocate(int64_t bytes);
  void add_work(VulkanWork& work);
  void remove_work(VulkanWork& work);
  // Semaphores of destroyed queues are reused, and live as long as the device: lavapipe (Mesa 22.3)
  // still uses one for a moment after the work that waited for it is done.
  void keep_semaphore(KeptSemaphore semaphore);
  std::optional<KeptSemaphore> take_semaphore();
  // Like vulkan_status(); records the loss of the device.
  Status status(VkResult code, const char* call);
  // Fails after the device is lost.
  Status alive() const;
  // Fails with the validation messages since the last call.
  Status valid() { return instance_->take_messages(); }

  const VulkanPhysical& physical() const { return physical_; }
  VkDevice handle() const { return device_; }
  VulkanHeap& memory() { return *memory_; }
  // Host-accessible memory, for transfers to memory that is not.
  VulkanHeap& staging() { return staging_ ? *staging_ : *memory_; }

  // The device's functions; tests replace some.
  VulkanFunctions vk;
  DeviceInfo info;
  std::set<uint32_t> capabilities;  // that kernels may declare
  // Whether shaders may request that 32-bit subnormals are kept, independently of other widths.
  bool keeps_denormals() const;
  std::array<int64_t, 3> max_groups = {1, 1, 1};  // maximum work groups in each dimension
  std::shared_ptr<DiskCache> pipelines;           // null: none

 private:
  VulkanContext() = default;
  Status create_device();
  Status create_heaps(bool map_memory);

  std::shared_ptr<VulkanInstance> instance_;
  VulkanPhysical physical_;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  std::mutex submitting_;  // all users share the one queue
  std::atomic<bool> lost_{false};
  std::unique_ptr<VulkanHeap> memory_;
  std::unique_ptr<VulkanHeap> staging_;  // null: memory_ is mapped
  std::mutex working_;                   // guards works_; taken before the lock of a queue
  std::set<VulkanWork*> works_;
  std::mutex lock_;  // guards the tables
  std::vector<KeptSemaphore> semaphores_;
  std::map<uint32_t, VkDescriptorSetLayout> set_layouts_;
  std::map<std::pair<uint32_t, uint32_t>, VkPipelineLayout> pipeline_layouts_;
};

// Device memory as the runtime sees it.
class VulkanMemory final : public runtime::DeviceMemory {
 public:
  VulkanMemory(std::shared_ptr<VulkanContext> context, std::shared_ptr<VulkanRange> range,
               int64_t size)
      : context_(std::move(context)), range_(std::move(range)), size_(size) {}
  int64_t size() const noexcept override { return size_; }
  std::byte* host_address() noexcept override { return range_->address(); }
  // Work in progress keeps it alive.
  const std::shared_ptr<VulkanRange>& range() const { return range_; }

 private:
  std::shared_ptr<VulkanContext> context_;
  std::shared_ptr<VulkanRange> range_;
  int64_t size_;
};

// Checks the module and reads its entries; pipelines are created at the first launch.
Result<std::shared_ptr<runtime::DeviceModule>> load_vulkan_module(
    std::shared_ptr<VulkanContext> context, const ModuleBlob& blob);
Result<std::unique_ptr<runtime::DeviceQueue>> create_vulkan_queue(
    std::shared_ptr<VulkanContext> context);
std::shared_ptr<runtime::Device> make_vulkan_device(std::shared_ptr<VulkanContext> context);

}  // namespace tapml::device
