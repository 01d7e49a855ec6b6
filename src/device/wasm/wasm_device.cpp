#include "device/wasm/wasm_device.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

namespace tapml::device {

namespace {

using runtime::CpuKernel;
using runtime::DeviceKernel;
using runtime::DeviceMemory;
using runtime::DeviceModule;
using runtime::DeviceQueue;
using runtime::HostCode;
using runtime::LaunchArgs;

constexpr size_t kWasmAlignment = 64;
constexpr size_t kWasmBuffers = 64;
// Offsets within an allocation are signed 32-bit numbers in generated code.
constexpr int64_t kWasmMostBytes = (int64_t{1} << 31) - (int64_t{1} << 16);
// Parts of a long launch, between which somebody is told that it goes on.
constexpr int64_t kLaunchParts = 16;

class WasmMemory final : public DeviceMemory {
 public:
  WasmMemory(void* block, int64_t size) : block_(block), size_(size) {
    auto address = reinterpret_cast<uintptr_t>(block);
    data_ = reinterpret_cast<std::byte*>((address + kWasmAlignment - 1) / kWasmAlignment *
                                         kWasmAlignment);
  }
  ~WasmMemory() override { std::free(block_); }
  int64_t size() const noexcept override { return size_; }
  std::byte* host_address() noexcept override { return data_; }

 private:
  void* block_;
  std::byte* data_;
  int64_t size_;
};

class WasmKernel final : public DeviceKernel {
 public:
  WasmKernel(CpuKernel code, std::shared_ptr<HostCode> owner)
      : function(code), owner_(std::move(owner)) {}
  const CpuKernel function;

 private:
  std::shared_ptr<HostCode> owner_;  // keeps the code loaded
};

class WasmModule final : public DeviceModule {
 public:
  explicit WasmModule(std::shared_ptr<HostCode> code) : code_(std::move(code)) {}
  Result<std::shared_ptr<DeviceKernel>> kernel(const std::string& entry) noexcept override {
    TAPML_ASSIGN(CpuKernel function, code_->find(entry));
    if (!function) return fail(internal_error("the module has no entry " + entry));
    return std::make_shared<WasmKernel>(function, code_);
  }

 private:
  std::shared_ptr<HostCode> code_;
};

class WasmQueue final : public DeviceQueue {
 public:
  explicit WasmQueue(std::shared_ptr<const WasmOptions> options) : options_(std::move(options)) {}

  Status write(DeviceMemory& to, int64_t offset,
               std::span<const std::byte> bytes) noexcept override {
    std::memcpy(to.host_address() + offset, bytes.data(), bytes.size());
    return {};
  }
  Status copy(DeviceMemory& from, int64_t from_offset, DeviceMemory& to, int64_t to_offset,
              int64_t size) noexcept override {
    std::memmove(to.host_address() + to_offset, from.host_address() + from_offset,
                 static_cast<size_t>(size));
    return {};
  }
  Status fill_zero(DeviceMemory& to, int64_t offset, int64_t size) noexcept override {
    std::memset(to.host_address() + offset, 0, static_cast<size_t>(size));
    return {};
  }
  Status launch(DeviceKernel& kernel, const LaunchArgs& args) noexcept override {
    if (args.buffers.size() > kWasmBuffers) {
      return fail(platform_error(PlatformFault::kLimit,
                                 std::to_string(args.buffers.size()) + " buffers in a launch"));
    }
    std::array<void*, kWasmBuffers> buffers;
    for (size_t i = 0; i < args.buffers.size(); ++i) {
      buffers[i] = args.buffers[i].memory->host_address() + args.buffers[i].offset;
    }
    CpuKernel function = static_cast<const WasmKernel&>(kernel).function;
    const int64_t grain = std::max<int64_t>(args.workgroup_threads, 1);
    const int64_t part = std::max(grain, args.extent / kLaunchParts);
    for (int64_t begin = 0; begin < args.extent;) {
      const int64_t end = args.extent - begin > part ? begin + part : args.extent;
      function(buffers.data(), args.scalars.data(), begin, end);
      begin = end;
      if (options_->poll) options_->poll();
    }
    return {};
  }
  Status read(DeviceMemory& from, int64_t offset, std::span<std::byte> bytes) noexcept override {
    std::memcpy(bytes.data(), from.host_address() + offset, bytes.size());
    return {};
  }
  Status synchronize() noexcept override { return {}; }

 private:
  std::shared_ptr<const WasmOptions> options_;
};

DeviceInfo describe(const WasmOptions& options) {
  DeviceInfo info;
  info.platform = "wasm";
  info.name = options.name;
  info.version = options.version;
  // Work groups mean nothing here, so that any size is within the limit.
  info.limits.max_workgroup_threads = std::numeric_limits<int32_t>::max();
  info.limits.max_allocation_bytes = kWasmMostBytes;
  info.limits.buffer_alignment = kWasmAlignment;
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
  // Room to align, and to load whole vectors at the end. What nobody writes costs no memory.
  void* block = std::malloc(static_cast<size_t>(bytes) + 2 * kWasmAlignment);
  if (!block) {
    return fail(platform_error(PlatformFault::kOutOfMemory,
                               "no memory for " + std::to_string(bytes) + " bytes", "wasm",
                               "a WebAssembly memory holds 4 GiB"));
  }
  return std::make_shared<WasmMemory>(block, bytes);
}

Result<std::shared_ptr<DeviceModule>> WasmDevice::load(const ModuleBlob& blob) noexcept {
  if (blob.platform != "wasm") {
    return fail(internal_error("a module for " + blob.platform + " is loaded on wasm"));
  }
  if (!options_->loader) {
    return fail(platform_error(PlatformFault::kAbsent, "this program cannot load WebAssembly"));
  }
  TAPML_ASSIGN(std::shared_ptr<HostCode> code, options_->loader->load(blob));
  return std::make_shared<WasmModule>(std::move(code));
}

Result<std::unique_ptr<DeviceQueue>> WasmDevice::create_queue() noexcept {
  return std::make_unique<WasmQueue>(options_);
}

}  // namespace tapml::device
