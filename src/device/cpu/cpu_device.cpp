#include "device/cpu/cpu_device.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "base/host/cpu_features.h"
#include "base/host/thread_pool.h"
#include "device/cpu/cpu_kernel.h"
#include "device/cpu/library/library_module.h"
#include "exec/library_code.h"

namespace tapml::device {

namespace {

using runtime::CpuKernel;
using runtime::DeviceKernel;
using runtime::DeviceMemory;
using runtime::DeviceModule;
using runtime::DeviceQueue;
using runtime::HostCode;
using runtime::LaunchArgs;

constexpr size_t kAlignment = 64;
constexpr size_t kMaxBuffers = 64;

class CpuMemory final : public DeviceMemory {
 public:
  CpuMemory(void* block, int64_t size) : block_(block), size_(size) {
    auto address = reinterpret_cast<uintptr_t>(block);
    data_ = reinterpret_cast<std::byte*>((address + kAlignment - 1) / kAlignment * kAlignment);
  }
  ~CpuMemory() override { std::free(block_); }
  int64_t size() const noexcept override { return size_; }
  std::byte* host_address() noexcept override { return data_; }

 private:
  void* block_;
  std::byte* data_;
  int64_t size_;
};

class WrappedMemory final : public DeviceMemory {
 public:
  WrappedMemory(std::byte* data, int64_t size, std::shared_ptr<const void> owner)
      : data_(data), size_(size), owner_(std::move(owner)) {}
  int64_t size() const noexcept override { return size_; }
  std::byte* host_address() noexcept override { return data_; }

 private:
  std::byte* data_;
  int64_t size_;
  std::shared_ptr<const void> owner_;
};

class CpuCode final : public CpuDeviceKernel {
 public:
  CpuCode(CpuKernel code, std::shared_ptr<HostCode> owner) : owner_(std::move(owner)) {
    function = code;
  }

 private:
  std::shared_ptr<HostCode> owner_;  // keeps the code mapped
};

class CpuModule final : public DeviceModule {
 public:
  explicit CpuModule(std::shared_ptr<HostCode> code) : code_(std::move(code)) {}
  Result<std::shared_ptr<DeviceKernel>> kernel(const std::string& entry) noexcept override {
    TAPML_ASSIGN(CpuKernel function, code_->find(entry));
    if (!function) return fail(internal_error("the module has no entry " + entry));
    return std::make_shared<CpuCode>(function, code_);
  }

 private:
  std::shared_ptr<HostCode> code_;
};

class CpuQueue final : public DeviceQueue {
 public:
  explicit CpuQueue(std::shared_ptr<ThreadPool> pool) : pool_(std::move(pool)) {}

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
    const auto& code = static_cast<const CpuDeviceKernel&>(kernel);
    if (!code.function) return args.extent > 0 ? code.run(args) : Status{};
    if (args.buffers.size() > kMaxBuffers) {
      return fail(platform_error(PlatformFault::kLimit,
                                 std::to_string(args.buffers.size()) + " buffers in a launch"));
    }
    std::array<void*, kMaxBuffers> buffers;
    for (size_t i = 0; i < args.buffers.size(); ++i) {
      buffers[i] = args.buffers[i].memory->host_address() + args.buffers[i].offset;
    }
    CpuKernel function = code.function;
    pool_->parallel_for(
        args.extent,
        [&](int64_t begin, int64_t end) {
          function(buffers.data(), args.scalars.data(), begin, end);
        },
        args.workgroup_threads);
    return {};
  }
  Status read(DeviceMemory& from, int64_t offset, std::span<std::byte> bytes) noexcept override {
    std::memcpy(bytes.data(), from.host_address() + offset, bytes.size());
    return {};
  }
  Status synchronize() noexcept override { return {}; }

 private:
  std::shared_ptr<ThreadPool> pool_;
};

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown processor";
}

int64_t physical_memory() {
  int64_t pages = sysconf(_SC_PHYS_PAGES);
  int64_t page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? pages * page : 0;
}

DeviceInfo describe(int threads) {
  DeviceInfo info;
  info.platform = "cpu";
  info.name = processor_name();
  info.cpu = cpu_architecture();
  for (const std::string& feature : cpu_features()) {
    info.cpu_features += (info.cpu_features.empty() ? "+" : ",+") + feature;
  }
  // Work groups mean nothing here, so that any size is within the limit.
  info.limits.max_workgroup_threads = std::numeric_limits<int32_t>::max();
  info.limits.max_allocation_bytes = physical_memory();
  info.limits.buffer_alignment = kAlignment;
  info.limits.threads = threads;
  for (int i = 0; i <= static_cast<int>(DType::kF64); ++i) {
    auto dtype = static_cast<DType>(i);
    info.features.storage_dtypes.insert(dtype);
    if (dtype != DType::kF16 && dtype != DType::kBF16) info.features.compute_dtypes.insert(dtype);
  }
  return info;
}

}  // namespace

struct CpuDevice::State {
  State(int threads, std::shared_ptr<runtime::KernelLoader> code_loader, HostLibraries given)
      : pool(std::make_shared<ThreadPool>(threads)),
        loader(std::move(code_loader)),
        libraries(std::move(given)),
        info(describe(pool->threads())) {}
  std::shared_ptr<ThreadPool> pool;
  std::shared_ptr<runtime::KernelLoader> loader;
  HostLibraries libraries;
  DeviceInfo info;
};

CpuDevice::CpuDevice(int threads, std::shared_ptr<runtime::KernelLoader> loader,
                     HostLibraries libraries)
    : state_(std::make_unique<State>(threads, std::move(loader), std::move(libraries))) {}
CpuDevice::~CpuDevice() = default;

const DeviceInfo& CpuDevice::info() const noexcept { return state_->info; }

Result<std::shared_ptr<DeviceMemory>> CpuDevice::allocate(int64_t bytes) noexcept {
  int64_t most = state_->info.limits.max_allocation_bytes;
  if (most > 0 && bytes > most) {
    return fail(platform_error(PlatformFault::kLimit,
                               "an allocation of " + std::to_string(bytes) +
                                   " bytes; this machine has " + std::to_string(most) +
                                   " bytes of memory",
                               "cpu"));
  }
  // Room to align, and to load whole vectors at the end. calloc gives large blocks as fresh zero
  // pages, which are not touched before they are used.
  void* block = std::calloc(static_cast<size_t>(bytes) + 2 * kAlignment, 1);
  if (!block) {
    return fail(platform_error(PlatformFault::kOutOfMemory,
                               "no memory for " + std::to_string(bytes) + " bytes", "cpu"));
  }
  return std::make_shared<CpuMemory>(block, bytes);
}

Result<std::shared_ptr<DeviceModule>> CpuDevice::load(const ModuleBlob& blob) noexcept {
  if (blob.platform != "cpu") {
    return fail(internal_error("a module for " + blob.platform + " is loaded on cpu"));
  }
  if (blob.format == kLibraryFormat) {
    return load_library_module(blob, state_->libraries, state_->pool->threads());
  }
  if (!state_->loader) {
    return fail(platform_error(PlatformFault::kAbsent, "this program cannot load host code", "cpu",
                               "use a build with the compiler"));
  }
  TAPML_ASSIGN(std::shared_ptr<HostCode> code, state_->loader->load(blob));
  return std::make_shared<CpuModule>(std::move(code));
}

Result<std::unique_ptr<DeviceQueue>> CpuDevice::create_queue() noexcept {
  return std::make_unique<CpuQueue>(state_->pool);
}

std::shared_ptr<DeviceMemory> wrap_host_memory(std::byte* data, int64_t size,
                                               std::shared_ptr<const void> owner) {
  return std::make_shared<WrappedMemory>(data, size, std::move(owner));
}

bool is_wrapped(const DeviceMemory* memory) {
  return dynamic_cast<const WrappedMemory*>(memory) != nullptr;
}

}  // namespace tapml::device
