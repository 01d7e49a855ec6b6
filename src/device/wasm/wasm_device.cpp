#include "device/wasm/wasm_device.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "device/inline/inline_memory.h"
#include "device/inline/inline_queue.h"

namespace tapml::device {

namespace {

using runtime::CpuKernel;
using runtime::DeviceMemory;
using runtime::DeviceModule;
using runtime::DeviceQueue;
using runtime::HostCode;

// Offsets within an allocation are signed 32-bit numbers in generated code.
constexpr int64_t kWasmMostBytes = (int64_t{1} << 31) - (int64_t{1} << 16);
// Number of parts of a long launch; progress is reported between them.
constexpr int64_t kLaunchParts = 16;

class PolledShares final : public Shares {
 public:
  explicit PolledShares(std::shared_ptr<const WasmOptions> options)
      : options_(std::move(options)) {}
  void run(CpuKernel function, void* const* buffers, const int64_t* scalars, int64_t extent,
           int64_t grain) noexcept override {
    const int64_t part = std::max({grain, extent / kLaunchParts, int64_t{1}});
    for (int64_t begin = 0; begin < extent;) {
      const int64_t end = extent - begin > part ? begin + part : extent;
      function(buffers, scalars, begin, end);
      begin = end;
      if (options_->poll) options_->poll();
    }
  }

 private:
  std::shared_ptr<const WasmOptions> options_;
};

DeviceInfo describe(const WasmOptions& options) {
  DeviceInfo info;
  info.platform = "wasm";
  info.name = options.name;
  info.version = options.version;
  // There are no work groups, so any size is within the limit.
  info.limits.max_workgroup_threads = std::numeric_limits<int32_t>::max();
  info.limits.max_allocation_bytes = kWasmMostBytes;
  info.limits.threads = 1;
  for (int i = 0; i <= static_cast<int>(DType::kF64); ++i) {
    auto dtype = static_cast<DType>(i);
    info.features.storage_dtypes.insert(dtype);
    if (dtype != DType::kF16 && dtype != DType::kBF16) info.features.compute_dtypes.insert(dtype);
  }
  return info;
}

}  // namespace

WasmDevice::WasmDevice(WasmOptions options)
    : options_(std::make_shared<const WasmOptions>(std::move(options))),
      info_(describe(*options_)) {}

Result<std::shared_ptr<DeviceMemory>> WasmDevice::allocate(int64_t bytes) noexcept {
  if (bytes > kWasmMostBytes) {
    return fail(platform_error(PlatformFault::kLimit,
                               "an allocation of " + std::to_string(bytes) +
                                   " bytes; WebAssembly allows " + std::to_string(kWasmMostBytes),
                               "wasm"));
  }
  std::shared_ptr<DeviceMemory> memory = allocate_inline(bytes);
  if (memory) return memory;
  return fail(platform_error(PlatformFault::kOutOfMemory,
                             "no memory for " + std::to_string(bytes) + " bytes", "wasm",
                             "a WebAssembly memory holds 4 GiB"));
}

Result<std::shared_ptr<DeviceModule>> WasmDevice::load(const ModuleBlob& blob) noexcept {
  if (blob.platform != "wasm") {
    return fail(internal_error("a module for " + blob.platform + " is loaded on wasm"));
  }
  if (!options_->loader) {
    return fail(platform_error(PlatformFault::kAbsent, "this program cannot load WebAssembly"));
  }
  TAPML_ASSIGN(std::shared_ptr<HostCode> code, options_->loader->load(blob));
  return inline_module(std::move(code));
}

Result<std::unique_ptr<DeviceQueue>> WasmDevice::create_queue() noexcept {
  return inline_queue(std::make_unique<PolledShares>(options_));
}

}  // namespace tapml::device
