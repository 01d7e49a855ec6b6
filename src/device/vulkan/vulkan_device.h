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
  // The device: an index into list_vulkan_devices(), -1 for the best one (a discrete GPU, else an
  // integrated one, else a processor).
  int device = -1;
  // Cache of compiled pipelines across processes, by module, device and driver; null: none.
  std::shared_ptr<DiskCache> pipelines;
  // Whether to use memory that host and device share, if there is any; otherwise bytes go through
  // staging memory, as for a discrete GPU.
  bool map_memory = true;
  // Enables the Khronos validation layers: their messages become an error of the queue or call that
  // comes next, and go to `on_message` (from any thread).
  bool validation = false;
  std::function<void(const std::string&)> on_message;
  std::string loader = "libvulkan.so.1";
};

// Modules have the format "spirv": for each of the blob's entries, in order, three little-endian
// u32 (number of words, buffers, bytes of push constants), then that many words of SPIR-V with one
// compute entry point "main". Its buffers are the storage buffers 0, 1, .. of descriptor set 0; its
// push constants are the launch's extent, then its scalars, each an int32. It must do all `extent`
// work items with any number of work groups (a grid-stride loop). If it uses subgroups, its
// specialization constant 0 may require their width (kLimit if the device lacks it); they are full
// then.
//
// Offsets of buffers are multiples of limits.buffer_alignment (kLimit). A binding extends to the
// end of its buffer, or to limits.max_binding_bytes.
//
// kAbsent if there is no loader, no driver or no such device.
Result<std::shared_ptr<runtime::Device>> create_vulkan_device(
    const VulkanOptions& options = {}) noexcept;

// All devices of Vulkan 1.2 or later with compute. kAbsent if there is no loader or no driver.
Result<std::vector<DeviceInfo>> list_vulkan_devices(const VulkanOptions& options = {}) noexcept;

}  // namespace tapml::device
