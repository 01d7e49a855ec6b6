#include "device/opencl/opencl_device.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <set>

#include "device/module_cache.h"
#include "device/opencl/cl_context.h"

namespace tapml::device {

namespace {

using runtime::Device;
using runtime::DeviceMemory;
using runtime::DeviceModule;
using runtime::DeviceQueue;

// The smallest buffer: OpenCL has none of zero bytes.
constexpr int64_t kSmallestBuffer = 64;

class OpenClDevice final : public Device {
 public:
  explicit OpenClDevice(std::shared_ptr<ClContext> context) : context_(std::move(context)) {}

  const DeviceInfo& info() const noexcept override { return context_->info; }

  Result<std::shared_ptr<DeviceMemory>> allocate(int64_t bytes) noexcept override {
    int64_t most = context_->info.limits.max_allocation_bytes;
    if (most > 0 && bytes > most) {
      return fail(platform_error(PlatformFault::kLimit,
                                 "an allocation of " + std::to_string(bytes) +
                                     " bytes; this device allows " + std::to_string(most),
                                 "opencl"));
    }
    // Many drivers allocate at the first use, too late for a good message.
    int64_t in_use = context_->allocated.fetch_add(bytes);
    if (context_->total_memory > 0 && in_use > context_->total_memory - bytes) {
      context_->allocated -= bytes;
      return fail(platform_error(PlatformFault::kOutOfMemory,
                                 "no memory for " + std::to_string(bytes) + " bytes; " +
                                     std::to_string(in_use) + " of " +
                                     std::to_string(context_->total_memory) + " are in use",
                                 "opencl"));
    }
    cl_int code = CL_SUCCESS;
    // A processor uses host memory, which this flag makes drivers allocate now: otherwise PoCL ends
    // the process if the first use finds none.
    const bool on_host = (context_->device.type & CL_DEVICE_TYPE_CPU) != 0;
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (on_host ? CL_MEM_ALLOC_HOST_PTR : 0);
    ClObject<cl_mem> memory(clCreateBuffer(context_->context.get(), flags,
                                           static_cast<size_t>(std::max(bytes, kSmallestBuffer)),
                                           nullptr, &code));
    // From here on the object accounts for the bytes.
    auto made = std::make_shared<ClMemory>(context_, std::move(memory), bytes);
    TAPML_TRY(cl_status(code, "clCreateBuffer"));
    return made;
  }

  Result<std::shared_ptr<DeviceModule>> load(const ModuleBlob& blob) noexcept override {
    if (blob.platform != "opencl" || blob.format != "opencl-c") {
      return fail(internal_error(
          "a module of format " + blob.format + " for " + blob.platform + " is loaded on opencl",
          "opencl"));
    }
    return modules_.get(sha256(blob.bytes), [&] { return build_cl_module(context_, blob.bytes); });
  }

  Result<std::unique_ptr<DeviceQueue>> create_queue() noexcept override {
    return create_cl_queue(context_);
  }

 private:
  std::shared_ptr<ClContext> context_;
  ModuleCache modules_;  // by hash of the source
};

// PoCL drops what it has read of its built-in functions with the last context of a process, and
// reads it again for the next one, which takes half a second. An unused context that is never
// released prevents that. On a GPU it would take memory of the device, for nothing.
void keep_driver_loaded(const ClDevice& device, const cl_context_properties* properties) {
  if ((device.type & CL_DEVICE_TYPE_CPU) == 0) return;
  static std::mutex lock;
  static std::set<cl_platform_id> kept;
  std::scoped_lock guard(lock);
  if (!kept.insert(device.platform).second) return;
  // If this fails, so does the context that is created next, which reports it.
  (void)clCreateContext(properties, 1, &device.device, nullptr, nullptr, nullptr);
}

Error no_device(const std::string& message) {
  return platform_error(PlatformFault::kAbsent, message, "opencl",
                        "install a driver: the package pocl-opencl-icd (runs on the processor) or "
                        "that of the GPU's vendor");
}

}  // namespace

Result<std::shared_ptr<Device>> create_opencl_device(const OpenClOptions& options) noexcept {
  TAPML_ASSIGN(std::vector<ClDevice> devices, find_cl_devices());
  if (devices.empty()) return fail(no_device("there is no OpenCL device on this machine"));
  if (options.device >= static_cast<int>(devices.size())) {
    return fail(platform_error(
        PlatformFault::kAbsent, "there is no OpenCL device " + std::to_string(options.device),
        "opencl", "device=0 to device=" + std::to_string(devices.size() - 1) + ": tapml devices"));
  }
  auto context = std::make_shared<ClContext>();
  context->programs = options.programs;
  context->device =
      options.device < 0 ? best_cl_device(devices) : devices[static_cast<size_t>(options.device)];
  context->info = describe_cl_device(context->device);
  cl_device_id id = context->device.device;
  context->total_memory = static_cast<int64_t>(
      std::min<cl_ulong>(cl_device_number<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE),
                         static_cast<cl_ulong>(std::numeric_limits<int64_t>::max())));
  // Enough groups to even out the work; on a processor each one has a cost.
  bool processor = (context->device.type & CL_DEVICE_TYPE_CPU) != 0;
  context->max_groups = context->info.limits.threads * (processor ? 8 : 64);
  cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(context->device.platform), 0};
  keep_driver_loaded(context->device, properties);
  cl_int code = CL_SUCCESS;
  context->context.reset(clCreateContext(properties, 1, &id, nullptr, nullptr, &code));
  TAPML_TRY(cl_status(code, "clCreateContext"));
  return std::make_shared<OpenClDevice>(std::move(context));
}

Result<std::vector<DeviceInfo>> list_opencl_devices() noexcept {
  TAPML_ASSIGN(std::vector<ClDevice> devices, find_cl_devices());
  std::vector<DeviceInfo> infos;
  for (const ClDevice& device : devices) infos.push_back(describe_cl_device(device));
  return infos;
}

}  // namespace tapml::device
