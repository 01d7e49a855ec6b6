// Command buffers of batches that were submitted before, to be submitted again.
//
// A model's steps launch the same kernels on the same memory again and again. A batch that is equal
// to an earlier one needs no descriptor sets, no updates of them and no commands: only a
// submission.
#pragma once

#include <list>
#include <vector>

#include "device/vulkan/vulkan_batch.h"

namespace tapml::device {

class VulkanRecordings {
 public:
  // All that a recording depends on: of each launch the pipeline, groups, buffers and constants.
  using Key = std::vector<uint64_t>;
  static constexpr size_t kMost = 16;

  // The recording of an equal batch, holding its objects; null if there is none, if an object of it
  // is gone (a new one may have the same address), or while it is in flight.
  std::shared_ptr<VulkanBatch> find(const Key& key);
  // Keeps `batch`, which was recorded for `key`. Returns the batch that it replaced, reset; null:
  // none could be replaced, or none had to.
  std::shared_ptr<VulkanBatch> keep(Key key, std::shared_ptr<VulkanBatch> batch);

 private:
  struct Recording {
    Key key;
    std::shared_ptr<VulkanBatch> batch;
  };
  std::list<Recording> recordings_;  // the last used one first
};

}  // namespace tapml::device
