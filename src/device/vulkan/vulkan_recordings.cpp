#include "device/vulkan/vulkan_recordings.h"

#include <algorithm>

namespace tapml::device {

std::shared_ptr<VulkanBatch> VulkanRecordings::find(const Key& key) {
  auto found = std::ranges::find(recordings_, key, &Recording::key);
  if (found == recordings_.end() || found->batch->in_flight || !found->batch->hold_again()) {
    return nullptr;
  }
  recordings_.splice(recordings_.begin(), recordings_, found);
  return found->batch;
}

std::shared_ptr<VulkanBatch> VulkanRecordings::keep(Key key, std::shared_ptr<VulkanBatch> batch) {
  std::shared_ptr<VulkanBatch> replaced;
  auto old = std::ranges::find(recordings_, key, &Recording::key);
  if (old == recordings_.end() && recordings_.size() >= kMost) old = std::prev(old);
  if (old != recordings_.end()) {
    if (old->batch->in_flight) return nullptr;
    replaced = std::move(old->batch);
    replaced->reset();
    recordings_.erase(old);
  }
  batch->keep();
  recordings_.push_front({std::move(key), std::move(batch)});
  return replaced;
}

}  // namespace tapml::device
