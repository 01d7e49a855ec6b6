// OpenCL 1.2 devices, through the loader of installable drivers.
#pragma once

#include <memory>
#include <vector>

#include "io/host/disk_cache.h"
#include "runtime/device.h"

namespace tapml::device {

// Which device: numbers as list_opencl_devices() counts them, -1 for the best one (a GPU, else an
// accelerator, else a processor).
struct OpenClOptions {
  int device = -1;
  // Where built programs are kept between processes, by source, device and driver; null: nowhere.
  std::shared_ptr<DiskCache> programs;
};

// Modules are of format "opencl-c": source text, built when it is loaded; the same source is built
// once per device, and once per machine where programs are kept. A kernel
//
//     __kernel void entry(__global void* b0, __global void* b1, ..,  // the launch's buffers
//                         long o0, long o1, ..,                      // where each begins, in bytes
//                         long s0, ..,                               // the launch's scalars
//                         long extent)
//
// must do all `extent` work items with any number of work groups (a grid-stride loop); its work
// groups have the launch's workgroup_threads threads in one dimension.
//
// kAbsent when there is no driver or no such device.
Result<std::shared_ptr<runtime::Device>> create_opencl_device(
    const OpenClOptions& options = {}) noexcept;

// All devices of all drivers; empty when there is a loader but no driver.
Result<std::vector<DeviceInfo>> list_opencl_devices() noexcept;

}  // namespace tapml::device
