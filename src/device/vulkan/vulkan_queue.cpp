#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <tuple>

#include "device/vulkan/vulkan_launch.h"
#include "device/vulkan/vulkan_recordings.h"

namespace tapml::device {

namespace {

using runtime::BatchedLaunch;
using runtime::DeviceEvent;
using runtime::DeviceKernel;
using runtime::DeviceMemory;
using runtime::DeviceQueue;
using runtime::LaunchArgs;

// Maximum submitted, unfinished batches; beyond that the host waits for the oldest.
constexpr size_t kMostBatches = 16;
// Larger writes to host-accessible memory wait for the queue and need no copy.
constexpr size_t kStagedWrite = 64 << 10;
// Bytes per step of a longer write or read.
constexpr size_t kStagingStep = VulkanBatch::kMostStaging;
// Launches of the smallest batch that has a command buffer of its own.
constexpr size_t kFewestTogether = 4;
// Limit of vkCmdUpdateBuffer.
constexpr size_t kMostUpdate = 64 << 10;

VulkanMemory& vulkan_memory(DeviceMemory& memory) { return static_cast<VulkanMemory&>(memory); }

class VulkanEvent final : public DeviceEvent {
 public:
  VulkanEvent(std::shared_ptr<VulkanTimeline> timeline, uint64_t value)
      : timeline(std::move(timeline)), value(value) {}
  const std::shared_ptr<VulkanTimeline> timeline;
  const uint64_t value;
};

// The bytes of a range from `offset` on.
struct VulkanLocation {
  std::shared_ptr<VulkanRange> range;
  int64_t offset = 0;

  VulkanLocation(DeviceMemory& memory, int64_t offset)
      : range(vulkan_memory(memory).range()), offset(offset) {}
  VulkanLocation(std::shared_ptr<VulkanRange> range, int64_t offset)
      : range(std::move(range)), offset(offset) {}
  VkDeviceSize in_buffer() const { return range->offset() + static_cast<VkDeviceSize>(offset); }
  std::byte* address() const { return range->address() ? range->address() + offset : nullptr; }
};

class VulkanQueue final : public DeviceQueue, private VulkanWork {
 public:
  VulkanQueue(std::shared_ptr<VulkanContext> context, std::shared_ptr<VulkanTimeline> timeline,
              VkCommandPool pool)
      : context_(std::move(context)), timeline_(std::move(timeline)), pool_(pool) {
    context_->add_work(*this);
  }

  ~VulkanQueue() override {
    context_->remove_work(*this);
    // Enqueued work runs to its end; if waiting fails, it is lost with the device.
    std::ignore = flush();
    std::ignore = wait_for(timeline_->last);
    recording_.reset();
    recordings_ = {};
    idle_.clear();
    in_flight_.clear();
    context_->vk.DestroyCommandPool(context_->handle(), pool_, nullptr);
  }

  Status write(DeviceMemory& to, int64_t offset,
               std::span<const std::byte> bytes) noexcept override {
    return guarded([&] { return write_at({to, offset}, bytes); });
  }

  Status copy(DeviceMemory& from, int64_t from_offset, DeviceMemory& to, int64_t to_offset,
              int64_t size) noexcept override {
    return guarded([&]() -> Status {
      const int64_t distance = std::abs(from_offset - to_offset);
      VulkanLocation source(from, from_offset), target(to, to_offset);
      if (&from != &to || distance >= size) return copy_apart(source, target, size);
      // Vulkan rejects copies between overlapping ranges: use a temporary buffer.
      TAPML_ASSIGN(std::shared_ptr<VulkanRange> aside, allocate(context_->memory(), size));
      TAPML_TRY(copy_apart(source, {aside, 0}, size));
      return copy_apart({aside, 0}, target, size);
    });
  }

  Status fill_zero(DeviceMemory& to, int64_t offset, int64_t size) noexcept override {
    return guarded([&] { return fill_at({to, offset}, size); });
  }

  Status launch(DeviceKernel& kernel, const LaunchArgs& args) noexcept override {
    return guarded([&]() -> Status {
      VulkanLaunch& ready = ready_[0];
      TAPML_TRY(ready.prepare(*context_, static_cast<VulkanKernel&>(kernel), args));
      TAPML_ASSIGN(VulkanBatch * batch, next_command());
      return ready.record(*context_, *batch, args);
    });
  }

  bool prefers_batches() const noexcept override { return true; }

  Status launch_batch(std::span<const BatchedLaunch> launches) noexcept override {
    if (launches.size() < kFewestTogether) return DeviceQueue::launch_batch(launches);
    return guarded([&] { return launch_together(launches); });
  }

  Status read(DeviceMemory& from, int64_t offset, std::span<std::byte> bytes) noexcept override {
    return guarded([&] { return read_at({from, offset}, bytes); });
  }

  Status synchronize() noexcept override {
    return guarded([&] { return finish(); });
  }

  Result<bool> done() noexcept override {
    bool reached = false;
    TAPML_TRY(guarded([&]() -> Status {
      TAPML_TRY(flush());
      TAPML_TRY(reclaim());
      reached = in_flight_.empty();
      return {};
    }));
    return reached;
  }

  Result<std::shared_ptr<DeviceEvent>> record() noexcept override {
    std::shared_ptr<DeviceEvent> event;
    TAPML_TRY(guarded([&]() -> Status {
      // Another queue may wait for the event without flushing this one.
      TAPML_TRY(flush());
      event = std::make_shared<VulkanEvent>(timeline_, timeline_->last);
      return {};
    }));
    return event;
  }

  Status wait(DeviceEvent& event) noexcept override {
    return guarded([&]() -> Status {
      auto& awaited = static_cast<VulkanEvent&>(event);
      if (awaited.timeline != timeline_) waits_.push_back({awaited.timeline, awaited.value});
      return {};
    });
  }

 private:
  struct Wait {
    std::shared_ptr<VulkanTimeline> timeline;
    uint64_t value = 0;
  };

  // Runs work() unless the queue has failed; keeps the error.
  template <class Work>
  Status guarded(Work&& work) {
    std::lock_guard guard(lock_);
    if (failed_) return fail(*failed_);
    Status status = context_->alive();
    if (status) status = work();
    if (Status valid = context_->valid(); status && !valid) status = std::move(valid);
    if (!status) failed_ = status.error();
    return status;
  }

  void settle() override {
    std::lock_guard guard(lock_);
    if (failed_) return;
    Status status = finish();
    if (!status) failed_ = std::move(status).error();
  }

  // Memory for internal use; waits for earlier work if that holds the memory.
  Result<std::shared_ptr<VulkanRange>> allocate(VulkanHeap& heap, int64_t bytes) {
    auto range = heap.allocate(bytes);
    if (range || range.error().fault != PlatformFault::kOutOfMemory) return range;
    TAPML_TRY(finish());
    return heap.allocate(bytes);
  }

  // Whether no work is in progress, so the host may access memory in the queue's order.
  Result<bool> is_idle() {
    if (recording_ || !closed_.empty() || !waits_.empty()) return false;
    TAPML_TRY(reclaim());
    return in_flight_.empty();
  }

  // The batch to record the next command into; the command sees all earlier work.
  Result<VulkanBatch*> next_command() {
    if (recording_ && recording_->is_full()) TAPML_TRY(flush());
    if (!recording_) {
      TAPML_TRY(await_room());
      TAPML_ASSIGN(std::shared_ptr<VulkanBatch> batch, new_batch());
      TAPML_TRY(batch->begin());
      recording_ = std::move(batch);
    }
    recording_->next();
    return recording_.get();
  }

  // Waits for the oldest batches while too many are in flight.
  Status await_room() {
    TAPML_TRY(reclaim());
    if (in_flight_.size() < kMostBatches) return {};
    return wait_for(in_flight_.front()->serial);
  }

  Result<std::shared_ptr<VulkanBatch>> new_batch() {
    if (!idle_.empty()) {
      std::shared_ptr<VulkanBatch> batch = std::move(idle_.back());
      idle_.pop_back();
      return batch;
    }
    VkCommandBufferAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = pool_;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    TAPML_TRY(
        context_->status(context_->vk.AllocateCommandBuffers(context_->handle(), &info, &commands),
                         "vkAllocateCommandBuffers"));
    return std::make_shared<VulkanBatch>(context_, commands);
  }

  // Ends the batch being recorded; the next submission begins with it.
  Status close() {
    if (!recording_) return {};
    // If this fails, the commands are lost.
    std::shared_ptr<VulkanBatch> batch = std::move(recording_);
    TAPML_TRY(batch->end());
    submit_later(std::move(batch));
    return {};
  }

  void submit_later(std::shared_ptr<VulkanBatch> batch) {
    batch->in_flight = true;
    closed_.push_back(std::move(batch));
  }

  // Submits the closed batches and the one being recorded with the pending waits.
  Status flush() {
    if (!recording_ && closed_.empty() && waits_.empty()) return {};
    // Waits without commands need a batch too: later commands must run after them.
    if (!recording_ && closed_.empty()) TAPML_TRY(next_command());
    TAPML_TRY(close());
    const std::vector<std::shared_ptr<VulkanBatch>> batches = std::exchange(closed_, {});
    std::vector<VkSemaphore> awaited;
    std::vector<uint64_t> values;
    for (const Wait& wait : waits_) {
      awaited.push_back(wait.timeline->handle);
      values.push_back(wait.value);
      batches.front()->hold(wait.timeline);
    }
    waits_.clear();
    const std::vector<VkPipelineStageFlags> stages(awaited.size(),
                                                   VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    const uint64_t signaled = timeline_->last + 1;
    VkTimelineSemaphoreSubmitInfo timeline{};
    timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    timeline.waitSemaphoreValueCount = static_cast<uint32_t>(values.size());
    timeline.pWaitSemaphoreValues = values.data();
    timeline.signalSemaphoreValueCount = 1;
    timeline.pSignalSemaphoreValues = &signaled;
    std::vector<VkCommandBuffer> commands;
    for (const auto& batch : batches) commands.push_back(batch->commands());
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.pNext = &timeline;
    info.waitSemaphoreCount = static_cast<uint32_t>(awaited.size());
    info.pWaitSemaphores = awaited.data();
    info.pWaitDstStageMask = stages.data();
    info.commandBufferCount = static_cast<uint32_t>(commands.size());
    info.pCommandBuffers = commands.data();
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &timeline_->handle;
    TAPML_TRY(context_->submit(info));
    timeline_->last = signaled;
    for (const auto& batch : batches) {
      batch->serial = signaled;
      in_flight_.push_back(batch);
    }
    return {};
  }

  // Recycles the batches that are done.
  Status reclaim() {
    if (in_flight_.empty()) return {};
    uint64_t value = 0;
    TAPML_TRY(context_->status(
        context_->vk.GetSemaphoreCounterValue(context_->handle(), timeline_->handle, &value),
        "vkGetSemaphoreCounterValue"));
    while (!in_flight_.empty() && in_flight_.front()->serial <= value) {
      std::shared_ptr<VulkanBatch> batch = std::move(in_flight_.front());
      in_flight_.pop_front();
      batch->done();
      if (!batch->is_kept()) idle_.push_back(std::move(batch));
    }
    return {};
  }

  Status wait_for(uint64_t serial) {
    if (in_flight_.empty() || in_flight_.front()->serial > serial) return {};
    VkSemaphoreWaitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
    info.semaphoreCount = 1;
    info.pSemaphores = &timeline_->handle;
    info.pValues = &serial;
    TAPML_TRY(context_->status(context_->vk.WaitSemaphores(context_->handle(), &info, UINT64_MAX),
                               "vkWaitSemaphores"));
    return reclaim();
  }

  Status finish() {
    TAPML_TRY(flush());
    return wait_for(timeline_->last);
  }

  Status write_at(const VulkanLocation& to, std::span<const std::byte> bytes) {
    if (to.address()) {
      TAPML_ASSIGN(bool idle, is_idle());
      if (!idle && bytes.size() > kStagedWrite) {
        TAPML_TRY(finish());
        idle = true;
      }
      if (idle) {
        std::memcpy(to.address(), bytes.data(), bytes.size());
        return {};
      }
    }
    const bool whole_words = (to.offset | static_cast<int64_t>(bytes.size())) % 4 == 0;
    if (whole_words && bytes.size() <= kMostUpdate) {
      TAPML_ASSIGN(VulkanBatch * batch, next_command());
      context_->vk.CmdUpdateBuffer(batch->commands(), to.range->buffer(), to.in_buffer(),
                                   bytes.size(), bytes.data());
      batch->hold(to.range);
      return {};
    }
    for (size_t at = 0; at < bytes.size(); at += kStagingStep) {
      const size_t size = std::min(bytes.size() - at, kStagingStep);
      TAPML_ASSIGN(std::shared_ptr<VulkanRange> staging,
                   allocate(context_->staging(), static_cast<int64_t>(size)));
      std::memcpy(staging->address(), bytes.data() + at, size);
      TAPML_TRY(copy_apart({std::move(staging), 0},
                           {to.range, to.offset + static_cast<int64_t>(at)},
                           static_cast<int64_t>(size)));
      recording_->count_staging(static_cast<int64_t>(size));
    }
    return {};
  }

  Status copy_apart(const VulkanLocation& from, const VulkanLocation& to, int64_t size) {
    TAPML_ASSIGN(VulkanBatch * batch, next_command());
    VkBufferCopy part{from.in_buffer(), to.in_buffer(), static_cast<VkDeviceSize>(size)};
    context_->vk.CmdCopyBuffer(batch->commands(), from.range->buffer(), to.range->buffer(), 1,
                               &part);
    batch->hold(from.range);
    batch->hold(to.range);
    return {};
  }

  Status fill_at(const VulkanLocation& to, int64_t size) {
    // Vulkan fills whole words: the bytes before and after are copied from zeros.
    constexpr std::array<std::byte, 4> kZeros{};
    const int64_t before = std::min(size, (4 - to.offset % 4) % 4);
    const int64_t words = (size - before) / 4 * 4;
    const int64_t after = size - before - words;
    auto zeros = [&](int64_t count) {
      return std::span<const std::byte>(kZeros).first(static_cast<size_t>(count));
    };
    if (before > 0) TAPML_TRY(write_at(to, zeros(before)));
    if (words > 0) {
      TAPML_ASSIGN(VulkanBatch * batch, next_command());
      VulkanLocation middle(to.range, to.offset + before);
      context_->vk.CmdFillBuffer(batch->commands(), to.range->buffer(), middle.in_buffer(),
                                 static_cast<VkDeviceSize>(words), 0);
      batch->hold(to.range);
    }
    if (after > 0) TAPML_TRY(write_at({to.range, to.offset + before + words}, zeros(after)));
    return {};
  }

  Status read_at(const VulkanLocation& from, std::span<std::byte> bytes) {
    if (from.address()) {
      TAPML_TRY(finish());
      std::memcpy(bytes.data(), from.address(), bytes.size());
      return {};
    }
    for (size_t at = 0; at < bytes.size(); at += kStagingStep) {
      const size_t size = std::min(bytes.size() - at, kStagingStep);
      TAPML_ASSIGN(std::shared_ptr<VulkanRange> staging,
                   allocate(context_->staging(), static_cast<int64_t>(size)));
      TAPML_TRY(copy_apart({from.range, from.offset + static_cast<int64_t>(at)}, {staging, 0},
                           static_cast<int64_t>(size)));
      TAPML_TRY(finish());
      std::memcpy(bytes.data() + at, staging->address(), size);
    }
    return {};
  }

  // The launches as a command buffer of their own: an equal one from before, or a new one.
  Status launch_together(std::span<const BatchedLaunch> launches) {
    if (launches.empty()) return {};
    if (ready_.size() < launches.size()) ready_.resize(launches.size());
    VulkanRecordings::Key key;
    for (size_t i = 0; i < launches.size(); ++i) {
      const BatchedLaunch& launch = launches[i];
      Status status =
          ready_[i].prepare(*context_, static_cast<VulkanKernel&>(*launch.kernel), launch.args);
      if (!status) {
        status.error().where = "kernel " + *launch.entry;
        return status;
      }
      ready_[i].add_to_key(key, launch.args);
    }
    TAPML_TRY(close());
    TAPML_TRY(await_room());
    std::shared_ptr<VulkanBatch> batch = recordings_.find(key);
    if (!batch) {
      TAPML_ASSIGN(batch, new_batch());
      TAPML_TRY(batch->begin(true));
      for (size_t i = 0; i < launches.size(); ++i) {
        batch->next();
        TAPML_TRY(ready_[i].record(*context_, *batch, launches[i].args));
      }
      TAPML_TRY(batch->end());
      auto replaced = recordings_.keep(std::move(key), batch);
      if (replaced) idle_.push_back(std::move(replaced));
    }
    submit_later(std::move(batch));
    int64_t commands = 0;
    for (const auto& waiting : closed_) commands += waiting->size();
    return commands >= VulkanBatch::kMostCommands ? flush() : Status{};
  }

  std::shared_ptr<VulkanContext> context_;
  std::shared_ptr<VulkanTimeline> timeline_;
  VkCommandPool pool_;
  std::mutex lock_;  // for settle(), which any thread may call
  std::shared_ptr<VulkanBatch> recording_;
  std::vector<std::shared_ptr<VulkanBatch>> closed_;    // recorded, to be submitted in this order
  std::deque<std::shared_ptr<VulkanBatch>> in_flight_;  // oldest first
  std::vector<std::shared_ptr<VulkanBatch>> idle_;
  VulkanRecordings recordings_;
  std::vector<VulkanLaunch> ready_ = std::vector<VulkanLaunch>(1);  // of the current launches
  std::vector<Wait> waits_;  // to add to the batch being recorded
  std::optional<Error> failed_;
};

}  // namespace

Result<std::unique_ptr<DeviceQueue>> create_vulkan_queue(std::shared_ptr<VulkanContext> context) {
  TAPML_TRY(context->alive());
  TAPML_ASSIGN(std::shared_ptr<VulkanTimeline> timeline, VulkanTimeline::create(context));
  VkCommandPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  info.queueFamilyIndex = context->physical().family;
  VkCommandPool pool = VK_NULL_HANDLE;
  TAPML_TRY(context->status(context->vk.CreateCommandPool(context->handle(), &info, nullptr, &pool),
                            "vkCreateCommandPool"));
  return std::make_unique<VulkanQueue>(std::move(context), std::move(timeline), pool);
}

}  // namespace tapml::device
