// Vulkan 1.2 devices, through the loader libvulkan, which is opened at run time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/host/disk_cache.h"
#include "runtime/device.h"

namespace tapml::device {

struct VulkanOptions {
  // Which device: numbers as list_vulkan_devices() counts them, -1 for the best one (a GPU of its
  // own memory, else one that shares the host's, else a processor).
  int device = -1;
  // Where compiled pipelines are kept between processes, by module, device and driver; null:
  // nowhere.
  std::shared_ptr<DiskCache> pipelines;
  // Whether memory that the host and the device share is used where there is some; without,
  // bytes go through staging memory, as for a GPU of its own memory.
  bool map_memory = true;
  // The Khronos validation layers: what they complain about becomes an error of the queue or call
  // that comes next, and goes to `on_message` (from any thread).
  bool validation = false;
  std::function<void(const std::string&)> on_message;
  std::string loader = "libvulkan.so.1";
};

// Modules are of format "spirv": for each of the blob's entries, in order, three little-endian u32
// (number of words, buffers, bytes of push constants), then that many words of SPIR-V with one
// compute entry point "main". Its buffers are the storage buffers 0, 1, .. of descriptor set 0; its
// push constants are the launch's extent, then its scalars, each an int32. It must do all `extent`
// work items with any number of work groups (a grid-stride loop). Where it uses subgroups, its
// specialization constant 0 may say which width they must have (kLimit where the device cannot);
// they are full then.
//
// Offsets of buffers are multiples of limits.buffer_alignment (kLimit). A binding reaches to the
// end of its buffer, or to limits.max_binding_bytes.
//
// kAbsent when there is no loader, no driver or no such device.
Result<std::shared_ptr<runtime::Device>> create_vulkan_device(
    const VulkanOptions& options = {}) noexcept;

// All devices of Vulkan 1.2 or later that compute. kAbsent when there is no loader or no driver.
Result<std::vector<DeviceInfo>> list_vulkan_devices(const VulkanOptions& options = {}) noexcept;

}  // namespace tapml::device
