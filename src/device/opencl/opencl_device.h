// OpenCL 1.2 devices, through the installable client driver loader.
#pragma once

#include <memory>
#include <vector>

#include "io/host/disk_cache.h"
#include "runtime/device.h"

namespace tapml::device {

// The device: an index into list_opencl_devices(), -1 for the best one (a GPU, else an accelerator,
// else a processor).
struct OpenClOptions {
  int device = -1;
  // Cache of built programs across processes, by source, device and driver; null: none.
  std::shared_ptr<DiskCache> programs;
};

// Modules have the format "opencl-c": source text, built when it is loaded; the same source is
// built once per device, and once per machine with a cache. A kernel
//
//     __kernel void entry(__global void* b0, __global void* b1, ..,  // the launch's buffers
//                         long o0, long o1, ..,                      // their offsets in bytes
//                         long s0, ..,                               // the launch's scalars
//                         long extent)
//
// must do all `extent` work items with any number of work groups (a grid-stride loop); its work
// groups have the launch's workgroup_threads threads in one dimension.
//
// kAbsent if there is no driver or no such device.
Result<std::shared_ptr<runtime::Device>> create_opencl_device(
    const OpenClOptions& options = {}) noexcept;

// All devices of all drivers; empty if there is a loader but no driver.
Result<std::vector<DeviceInfo>> list_opencl_devices() noexcept;

}  // namespace tapml::device
