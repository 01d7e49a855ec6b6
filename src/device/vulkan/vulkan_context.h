// What the parts of one Vulkan device share.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>

#include "device/vulkan/vulkan_describe.h"
#include "device/vulkan/vulkan_heap.h"
#include "device/vulkan/vulkan_spirv.h"

namespace tapml::device {

// The signature of kernels: so many storage buffers and bytes of push constants.
struct VulkanLayout {
  VkDescriptorSetLayout set = VK_NULL_HANDLE;
  VkPipelineLayout pipeline = VK_NULL_HANDLE;
};

// A queue, as the context sees it.
class VulkanWork {
 public:
  virtual ~VulkanWork() = default;
  // Waits until all that was enqueued is done, and lets go of what it held.
  virtual void settle() = 0;
};

// A timeline semaphore that no queue uses, at the value that was signaled last.
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

  // Kernels of the same signature share one.
  Result<VulkanLayout> layout(uint32_t buffers, uint32_t push_bytes);
  Status submit(const VkSubmitInfo& info);
  // Queues hold memory that their work uses, released or not: where there is none left, all of
  // them are waited for.
  Result<std::shared_ptr<VulkanRange>> allocate(int64_t bytes);
  void add_work(VulkanWork& work);
  void remove_work(VulkanWork& work);
  // Semaphores of queues that have gone serve the next ones, and live as long as the device:
  // lavapipe (Mesa 22.3) still uses one for a moment after what waited for it is done.
  void keep_semaphore(KeptSemaphore semaphore);
  std::optional<KeptSemaphore> take_semaphore();
  // As vulkan_status(); notes that the device is lost.
  Status status(VkResult code, const char* call);
  // Fails once the device is lost.
  Status alive() const;
  // Fails with what the validation layers complained about since the last call.
  Status valid() { return instance_->take_messages(); }

  const VulkanPhysical& physical() const { return physical_; }
  VkDevice handle() const { return device_; }
  VulkanHeap& memory() { return *memory_; }
  // Memory that the host writes and reads, for what it cannot reach.
  VulkanHeap& staging() { return staging_ ? *staging_ : *memory_; }

  // Functions of the device; tests replace some.
  VulkanFunctions vk;
  DeviceInfo info;
  std::set<uint32_t> capabilities;  // that kernels may declare
  // Whether shaders may ask for numbers below the smallest normal one to be kept, those of 32 bits
  // alone.
  bool keeps_denormals() const;
  int64_t max_groups = 1;                // work groups that a launch may have and that make sense
  std::shared_ptr<DiskCache> pipelines;  // null: none

 private:
  VulkanContext() = default;
  Status create_device();
  Status create_heaps(bool map_memory);

  std::shared_ptr<VulkanInstance> instance_;
  VulkanPhysical physical_;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  std::mutex submitting_;  // the queue is one for all
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

// Memory of the device in the runtime's sense.
class VulkanMemory final : public runtime::DeviceMemory {
 public:
  VulkanMemory(std::shared_ptr<VulkanContext> context, std::shared_ptr<VulkanRange> range,
               int64_t size)
      : context_(std::move(context)), range_(std::move(range)), size_(size) {}
  int64_t size() const noexcept override { return size_; }
  std::byte* host_address() noexcept override { return range_->address(); }
  // Work that is under way keeps it.
  const std::shared_ptr<VulkanRange>& range() const { return range_; }

 private:
  std::shared_ptr<VulkanContext> context_;
  std::shared_ptr<VulkanRange> range_;
  int64_t size_;
};

// Checks the module and reads its entries; pipelines are made when their kernels are launched.
Result<std::shared_ptr<runtime::DeviceModule>> load_vulkan_module(
    std::shared_ptr<VulkanContext> context, const ModuleBlob& blob);
Result<std::unique_ptr<runtime::DeviceQueue>> create_vulkan_queue(
    std::shared_ptr<VulkanContext> context);
std::shared_ptr<runtime::Device> make_vulkan_device(std::shared_ptr<VulkanContext> context);

}  // namespace tapml::device
