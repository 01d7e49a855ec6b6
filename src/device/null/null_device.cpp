#include "device/null/null_device.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "base/physical_memory.h"

namespace tapml::device {

namespace {

using runtime::BufferArg;
using runtime::DeviceKernel;
using runtime::DeviceMemory;
using runtime::DeviceModule;
using runtime::DeviceQueue;
using runtime::LaunchArgs;

constexpr size_t kNullAlignment = 64;

class NullMemory final : public DeviceMemory {
 public:
  // `block` is the allocation, with room for `size` bytes from an aligned address on.
  NullMemory(void* block, int64_t size, std::shared_ptr<NullCounts> counts)
      : block_(block), size_(size), counts_(std::move(counts)) {
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    data_ = static_cast<std::byte*>(block) + (kNullAlignment - address % kNullAlignment);
    int64_t live = counts_->live_bytes += size_;
    int64_t peak = counts_->peak_bytes;
    while (live > peak && !counts_->peak_bytes.compare_exchange_weak(peak, live)) {
    }
  }
  ~NullMemory() override {
    counts_->live_bytes -= size_;
    std::free(block_);
    ++counts_->releases;
  }
  int64_t size() const noexcept override { return size_; }
  std::byte* host_address() noexcept override { return data_; }

 private:
  void* block_;
  std::byte* data_;
  int64_t size_;
  std::shared_ptr<NullCounts> counts_;
};

class NullKernel final : public DeviceKernel {};

class NullModule final : public DeviceModule {
 public:
  explicit NullModule(std::vector<std::string> entries) : entries_(std::move(entries)) {}
  Result<std::shared_ptr<DeviceKernel>> kernel(const std::string& entry) noexcept override {
    for (const std::string& known : entries_) {
      if (known == entry) return std::make_shared<NullKernel>();
    }
    return fail(internal_error("the module has no entry " + entry));
  }

 private:
  std::vector<std::string> entries_;
};

class NullQueue final : public DeviceQueue {
 public:
  NullQueue(Limits limits, std::shared_ptr<NullCounts> counts)
      : limits_(limits), counts_(std::move(counts)) {}

  Status write(DeviceMemory& to, int64_t offset,
               std::span<const std::byte> bytes) noexcept override {
    ++counts_->writes;
    counts_->written_bytes += static_cast<int64_t>(bytes.size());
    std::memcpy(to.host_address() + offset, bytes.data(), bytes.size());
    return {};
  }
  Status copy(DeviceMemory& from, int64_t from_offset, DeviceMemory& to, int64_t to_offset,
              int64_t size) noexcept override {
    ++counts_->copies;
    std::memmove(to.host_address() + to_offset, from.host_address() + from_offset,
                 static_cast<size_t>(size));
    return {};
  }
  Status fill_zero(DeviceMemory& to, int64_t offset, int64_t size) noexcept override {
    ++counts_->fills;
    std::memset(to.host_address() + offset, 0, static_cast<size_t>(size));
    return {};
  }
  Status launch(DeviceKernel&, const LaunchArgs& args) noexcept override {
    ++counts_->launches;
    if (args.extent < 1 || args.workgroup_threads < 1) {
      return fail(internal_error("a launch without work"));
    }
    if (args.workgroup_threads > limits_.max_workgroup_threads) {
      return fail(platform_error(
          PlatformFault::kLimit,
          "a work group of " + std::to_string(args.workgroup_threads) + " threads is too large"));
    }
    for (const BufferArg& buffer : args.buffers) {
      if (!buffer.memory || buffer.offset < 0 || buffer.offset > buffer.memory->size()) {
        return fail(internal_error("a buffer argument outside of its memory"));
      }
    }
    return {};
  }
  Status read(DeviceMemory& from, int64_t offset, std::span<std::byte> bytes) noexcept override {
    ++counts_->reads;
    std::memcpy(bytes.data(), from.host_address() + offset, bytes.size());
    return {};
  }
  Status synchronize() noexcept override {
    ++counts_->synchronizes;
    return {};
  }

 private:
  Limits limits_;
  std::shared_ptr<NullCounts> counts_;
};

}  // namespace

Limits NullDevice::default_limits() {
  Limits limits;
  limits.max_workgroup_threads = 1024;
  // An allocator that reserves addresses only would give any number of bytes.
  limits.max_allocation_bytes = physical_memory();
  return limits;
}

NullDevice::NullDevice(Limits limits) : counts_(std::make_shared<NullCounts>()) {
  info_.platform = "null";
  info_.name = "computes nothing";
  info_.version = "1";
  info_.limits = limits;
  for (int i = 0; i <= static_cast<int>(DType::kF64); ++i) {
    info_.features.storage_dtypes.insert(static_cast<DType>(i));
    info_.features.compute_dtypes.insert(static_cast<DType>(i));
  }
}

Result<std::shared_ptr<DeviceMemory>> NullDevice::allocate(int64_t bytes) noexcept {
  int64_t most = info_.limits.max_allocation_bytes;
  if (most > 0 && bytes > most) {
    return fail(platform_error(PlatformFault::kLimit, "an allocation of " + std::to_string(bytes) +
                                                          " bytes; this device allows " +
                                                          std::to_string(most)));
  }
  // Never empty, because a buffer of zero bytes needs an address too. Zeros, because nothing is
  // ever computed: reads are then the same in every run, and valid tokens. Untouched pages cost
  // nothing.
  void* block = nullptr;
  if (static_cast<uint64_t>(bytes) < std::numeric_limits<size_t>::max() - 2 * kNullAlignment) {
    block = std::calloc(1, static_cast<size_t>(bytes) + 2 * kNullAlignment);
  }
  if (!block) {
    return fail(platform_error(PlatformFault::kOutOfMemory,
                               "no memory for " + std::to_string(bytes) + " bytes"));
  }
  ++counts_->allocations;
  return std::make_shared<NullMemory>(block, bytes, counts_);
}

Result<std::shared_ptr<DeviceModule>> NullDevice::load(const ModuleBlob& blob) noexcept {
  ++counts_->modules;
  return std::make_shared<NullModule>(blob.entries);
}

Result<std::unique_ptr<DeviceQueue>> NullDevice::create_queue() noexcept {
  return std::make_unique<NullQueue>(info_.limits, counts_);
}

}  // namespace tapml::device
