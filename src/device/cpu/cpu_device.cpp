#include "device/cpu/cpu_device.h"

#include <limits>
#include <utility>

#include "base/host/cpu_features.h"
#include "base/host/machine_info.h"
#include "base/host/thread_pool.h"
#include "device/cpu/float_environment.h"
#include "device/cpu/library/library_module.h"
#include "device/inline/inline_memory.h"
#include "device/inline/inline_queue.h"
#include "exec/library_code.h"
#include "runtime/launch_note.h"

namespace tapml::device {

namespace {

using runtime::CpuKernel;
using runtime::DeviceMemory;
using runtime::DeviceModule;
using runtime::DeviceQueue;
using runtime::HostCode;

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

class SharedMemory final : public DeviceMemory {
 public:
  SharedMemory(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}
  int64_t size() const noexcept override { return static_cast<int64_t>(bytes_.size()); }
  std::byte* host_address() noexcept override { return const_cast<std::byte*>(bytes_.data()); }
  bool read_only() const noexcept override { return true; }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

class PoolShares final : public Shares {
 public:
  PoolShares(std::shared_ptr<ThreadPool> pool, std::shared_ptr<FloatWatch> floats)
      : pool_(std::move(pool)), floats_(std::move(floats)) {}
  void run(CpuKernel function, void* const* buffers, const int64_t* scalars, int64_t extent,
           int64_t grain) noexcept override {
    pool_->parallel_for(
        extent,
        [&](int64_t begin, int64_t end) {
          const FloatEnvironment before = FloatEnvironment::of_thread();
          function(buffers, scalars, begin, end);
          floats_->after_call(before);
        },
        grain);
  }

 private:
  std::shared_ptr<ThreadPool> pool_;
  std::shared_ptr<FloatWatch> floats_;
};

// An inline queue that checks and restores the floating-point environment after each launch.
class CpuQueue final : public DeviceQueue {
 public:
  CpuQueue(const std::shared_ptr<ThreadPool>& pool, bool under_test)
      : floats_(std::make_shared<FloatWatch>()),
        queue_(inline_queue(std::make_unique<PoolShares>(pool, floats_))),
        under_test_(under_test) {}

  Status write(DeviceMemory& to, int64_t offset,
               std::span<const std::byte> bytes) noexcept override {
    return queue_->write(to, offset, bytes);
  }
  Status copy(DeviceMemory& from, int64_t from_offset, DeviceMemory& to, int64_t to_offset,
              int64_t size) noexcept override {
    return queue_->copy(from, from_offset, to, to_offset, size);
  }
  Status fill_zero(DeviceMemory& to, int64_t offset, int64_t size) noexcept override {
    return queue_->fill_zero(to, offset, size);
  }
  Status launch(runtime::DeviceKernel& kernel, const runtime::LaunchArgs& args) noexcept override {
    // A library's routine does not run through shares.
    const FloatEnvironment before = FloatEnvironment::of_thread();
    Status launched = queue_->launch(kernel, args);
    floats_->after_call(before);
    std::string changed;
    if (!floats_->take(changed) || !under_test_ || !launched) return launched;
    return fail(runtime::misbehavior("leaves the floating-point environment changed: " + changed));
  }
  Status read(DeviceMemory& from, int64_t offset, std::span<std::byte> bytes) noexcept override {
    return queue_->read(from, offset, bytes);
  }
  Status synchronize() noexcept override { return queue_->synchronize(); }

 private:
  std::shared_ptr<FloatWatch> floats_;
  std::unique_ptr<DeviceQueue> queue_;
  const bool under_test_;
};

DeviceInfo describe(int threads) {
  DeviceInfo info;
  info.platform = "cpu";
  const MachineInfo machine = machine_info();
  info.name = machine.processor;
  info.kind = DeviceKind::kProcessor;
  info.cpu = cpu_architecture();
  for (const std::string& feature : cpu_features()) {
    info.cpu_features += (info.cpu_features.empty() ? "+" : ",+") + feature;
  }
  // There are no work groups, so any size is within the limit.
  info.limits.max_workgroup_threads = std::numeric_limits<int32_t>::max();
  info.limits.max_allocation_bytes = machine.memory_bytes;
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
  State(int threads, std::shared_ptr<runtime::KernelLoader> code_loader, HostLibraries given,
        bool tested)
      : pool(std::make_shared<ThreadPool>(threads)),
        loader(std::move(code_loader)),
        libraries(std::move(given)),
        under_test(tested),
        info(describe(pool->threads())) {}
  std::shared_ptr<ThreadPool> pool;
  std::shared_ptr<runtime::KernelLoader> loader;
  HostLibraries libraries;
  bool under_test;
  DeviceInfo info;
};

CpuDevice::CpuDevice(int threads, std::shared_ptr<runtime::KernelLoader> loader,
                     HostLibraries libraries, bool under_test)
    : state_(
          std::make_unique<State>(threads, std::move(loader), std::move(libraries), under_test)) {}
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
  std::shared_ptr<DeviceMemory> memory = allocate_inline(bytes);
  if (memory) return memory;
  return fail(platform_error(PlatformFault::kOutOfMemory,
                             "no memory for " + std::to_string(bytes) + " bytes", "cpu"));
}

std::shared_ptr<DeviceMemory> CpuDevice::share(std::span<const std::byte> bytes,
                                               const std::shared_ptr<const void>& owner) noexcept {
  constexpr uintptr_t kLeastPage = 4096;
  const uintptr_t past = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()) % kLeastPage;
  if (bytes.empty() || past == 0 || past + kInlineAlignment > kLeastPage) return nullptr;
  return std::make_shared<SharedMemory>(bytes, owner);
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
  return inline_module(std::move(code));
}

Result<std::unique_ptr<DeviceQueue>> CpuDevice::create_queue() noexcept {
  return std::make_unique<CpuQueue>(state_->pool, state_->under_test);
}

void CpuDevice::idle(int wake_fd) noexcept { state_->pool->idle(wake_fd); }
void CpuDevice::wake() noexcept { state_->pool->wake(); }

std::shared_ptr<DeviceMemory> wrap_host_memory(std::byte* data, int64_t size,
                                               std::shared_ptr<const void> owner) {
  return std::make_shared<WrappedMemory>(data, size, std::move(owner));
}

bool is_wrapped(const DeviceMemory* memory) {
  return dynamic_cast<const WrappedMemory*>(memory) != nullptr;
}

}  // namespace tapml::device
