// Recorded commands, with the objects that they use.
#pragma once

#include <vector>

#include "device/vulkan/vulkan_context.h"

namespace tapml::device {

// The progress of a queue: `handle` reaches the number of a batch when the batch is done.
struct VulkanTimeline {
  explicit VulkanTimeline(std::shared_ptr<VulkanContext> context) : context(std::move(context)) {}
  ~VulkanTimeline() {
    if (handle) context->keep_semaphore({handle, last});
  }
  VulkanTimeline(const VulkanTimeline&) = delete;
  VulkanTimeline& operator=(const VulkanTimeline&) = delete;
  static Result<std::shared_ptr<VulkanTimeline>> create(
      const std::shared_ptr<VulkanContext>& context);

  const std::shared_ptr<VulkanContext> context;
  VkSemaphore handle = VK_NULL_HANDLE;
  uint64_t last = 0;  // number of the last batch
};

// One command buffer. Keeps the objects that its commands use until done(), after they have run.
class VulkanBatch {
 public:
  static constexpr int64_t kMostCommands = 64;
  static constexpr int64_t kMostStaging = 16 << 20;  // bytes

  VulkanBatch(std::shared_ptr<VulkanContext> context, VkCommandBuffer commands)
      : context_(std::move(context)), commands_(commands) {}
  ~VulkanBatch();
  VulkanBatch(const VulkanBatch&) = delete;
  VulkanBatch& operator=(const VulkanBatch&) = delete;

  // `again`: it may be submitted more than once.
  Status begin(bool again = false);
  Status end();
  // Its commands have run, or never will: releases the objects, and the commands unless keep() was
  // called. A kept batch is submitted again after hold_again().
  void done();
  void reset();
  void keep();
  // Holds the objects of a kept batch again; false if one of them is gone.
  bool hold_again();

  VkCommandBuffer commands() const { return commands_; }
  // Begins another command, which sees all earlier writes, including those of earlier submissions.
  void next();
  // Whether to submit it before recording more.
  bool is_full() const { return count_ >= kMostCommands || staging_bytes_ >= kMostStaging; }
  int64_t size() const { return count_; }
  void hold(std::shared_ptr<const void> object) { held_.push_back(std::move(object)); }
  // Counts held memory that only a copy uses.
  void count_staging(int64_t bytes) { staging_bytes_ += bytes; }
  // A descriptor set of `buffers` storage buffers.
  Result<VkDescriptorSet> descriptors(VkDescriptorSetLayout layout, uint32_t buffers);

  bool is_kept() const { return !kept_.empty(); }

  uint64_t serial = 0;     // of the submission
  bool in_flight = false;  // submitted or about to be, and not done

 private:
  struct Pool {
    VkDescriptorPool handle = VK_NULL_HANDLE;
    uint32_t sets = 0, buffers = 0;  // remaining
  };
  Status add_pool();

  std::shared_ptr<VulkanContext> context_;
  VkCommandBuffer commands_;  // from the queue's pool, which frees it
  std::vector<Pool> pools_;
  size_t pool_ = 0;  // index of the current one
  std::vector<std::shared_ptr<const void>> held_;
  std::vector<std::weak_ptr<const void>> kept_;
  int64_t count_ = 0;  // commands
  int64_t staging_bytes_ = 0;
};

}  // namespace tapml::device
