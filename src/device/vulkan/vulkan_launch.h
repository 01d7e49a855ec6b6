// A launch as commands.
#pragma once

#include <array>
#include <memory>

#include "device/vulkan/vulkan_kernel.h"
#include "device/vulkan/vulkan_recordings.h"

namespace tapml::device {

struct VulkanLaunch {
  using Constants = std::array<int32_t, 256>;

  std::shared_ptr<VulkanPipeline> pipeline;
  Constants constants;
  std::array<uint32_t, 3> groups;

  // Sets the members for `args`, which are checked against the kernel and the device's limits.
  Status prepare(const VulkanContext& context, VulkanKernel& kernel,
                 const runtime::LaunchArgs& args);
  // Records the prepared launch of `args`; the batch then holds what it uses.
  Status record(const VulkanContext& context, VulkanBatch& batch,
                const runtime::LaunchArgs& args) const;
  // Adds all that the recorded commands depend on.
  void add_to_key(VulkanRecordings::Key& key, const runtime::LaunchArgs& args) const;
};

}  // namespace tapml::device
