// State that the parts of one OpenCL device share.
#pragma once

#include <atomic>
#include <mutex>

#include "device/opencl/cl_describe.h"
#include "io/host/disk_cache.h"
#include "runtime/device.h"

namespace tapml::device {

struct ClContext {
  ClDevice device;
  DeviceInfo info;
  ClObject<cl_context> context;
  int64_t total_memory = 0;  // of the device
  int64_t max_groups = 1;    // work groups that keep the device busy
  std::atomic<int64_t> allocated{0};
  std::shared_ptr<DiskCache> programs;  // null: none
};

class ClMemory final : public runtime::DeviceMemory {
 public:
  ClMemory(std::shared_ptr<ClContext> context, ClObject<cl_mem> memory, int64_t size)
      : context_(std::move(context)), memory_(std::move(memory)), size_(size) {}
  ~ClMemory() override { context_->allocated -= size_; }
  int64_t size() const noexcept override { return size_; }
  cl_mem handle() const { return memory_.get(); }

 private:
  std::shared_ptr<ClContext> context_;
  ClObject<cl_mem> memory_;
  int64_t size_;
};

class ClKernel final : public runtime::DeviceKernel {
 public:
  ClKernel(ClObject<cl_kernel> kernel, std::string entry, cl_uint arguments, size_t max_group)
      : kernel(std::move(kernel)),
        entry(std::move(entry)),
        arguments(arguments),
        max_group(max_group) {}
  const ClObject<cl_kernel> kernel;
  const std::string entry;
  const cl_uint arguments;  // declared by its source
  const size_t max_group;   // threads
  std::mutex lock;          // arguments are state of the kernel object
};

// Builds source text, or takes the result of an earlier build from context->programs; its kernels
// keep it alive.
Result<std::shared_ptr<runtime::DeviceModule>> build_cl_module(std::shared_ptr<ClContext> context,
                                                               std::span<const std::byte> source);
Result<std::unique_ptr<runtime::DeviceQueue>> create_cl_queue(std::shared_ptr<ClContext> context);

}  // namespace tapml::device
