#include "device/webgpu/webgpu_queue.h"

#include <cstdlib>
#include <cstring>
#include <optional>
#include <tuple>

#include "base/rounding.h"
#include "device/webgpu/webgpu_launch.h"

namespace tapml::device {

namespace {

using runtime::BatchedLaunch;
using runtime::DeviceKernel;
using runtime::DeviceMemory;
using runtime::DeviceQueue;
using runtime::LaunchArgs;

class WebGpuQueue final : public DeviceQueue {
 public:
  explicit WebGpuQueue(std::shared_ptr<WebGpuContext> context) : context_(std::move(context)) {}

  Status write(DeviceMemory& to, int64_t offset,
               std::span<const std::byte> bytes) noexcept override {
    return guarded([&] { return write_at(webgpu_memory(to), offset, bytes); });
  }

  Status copy(DeviceMemory& from, int64_t from_offset, DeviceMemory& to, int64_t to_offset,
              int64_t size) noexcept override {
    return guarded([&]() -> Status {
      const uint32_t source = webgpu_memory(from).buffer(), target = webgpu_memory(to).buffer();
      if (source != target) return copy_apart(source, from_offset, target, to_offset, size);
      // WebGPU copies between different buffers only.
      const int64_t skip = from_offset % 4;
      TAPML_ASSIGN(const uint32_t aside, context_->aside(0, round_up(skip + size, int64_t{4})));
      TAPML_TRY(context_->add(GpuCommand::kCopy, {source, from_offset - skip, aside, 0,
                                                  round_up(skip + size, int64_t{4})}));
      return copy_apart(aside, skip, target, to_offset, size);
    });
  }

  Status fill_zero(DeviceMemory& to, int64_t offset, int64_t size) noexcept override {
    return guarded([&]() -> Status {
      const uint32_t buffer = webgpu_memory(to).buffer();
      const int64_t before = std::min(size, (4 - offset % 4) % 4);
      const int64_t words = (size - before) / 4 * 4, after = size - before - words;
      TAPML_TRY(zero_bytes(buffer, offset, before));
      if (words > 0) TAPML_TRY(context_->add(GpuCommand::kFill, {buffer, offset + before, words}));
      return zero_bytes(buffer, offset + before + words, after);
    });
  }

  Status launch(DeviceKernel& kernel, const LaunchArgs& args) noexcept override {
    return guarded([&] { return add_launch(*context_, static_cast<WebGpuKernel&>(kernel), args); });
  }

  bool prefers_batches() const noexcept override { return true; }

  Status read(DeviceMemory& from, int64_t offset, std::span<std::byte> bytes) noexcept override {
    return guarded([&]() -> Status {
      TAPML_TRY(context_->flush());
      if (bytes.empty()) return {};
      return context_->gpu().read(webgpu_memory(from).buffer(), offset, bytes);
    });
  }

  Status synchronize() noexcept override {
    return guarded([&]() -> Status {
      TAPML_TRY(context_->flush());
      return context_->gpu().finish();
    });
  }

  // A browser tells this only to those who wait.
  Result<bool> done() noexcept override {
    TAPML_TRY(synchronize());
    return true;
  }

 private:
  // The first error stays.
  template <class Work>
  Status guarded(Work&& work) noexcept {
    if (failed_) return fail(*failed_);
    Status status = work();
    if (!status) failed_ = status.error();
    return status;
  }

  Status write_at(WebGpuMemory& to, int64_t offset, std::span<const std::byte> bytes) {
    if (bytes.empty()) return {};
    // Writes do not wait in the list of commands.
    TAPML_TRY(context_->flush());
    const bool at_word = offset % 4 == 0;
    const size_t whole = at_word ? bytes.size() / 4 * 4 : 0;
    if (whole > 0) TAPML_TRY(context_->gpu().write(to.buffer(), offset, bytes.first(whole)));
    const std::span<const std::byte> rest = bytes.subspan(whole);
    if (rest.empty()) return {};
    std::vector<std::byte> padded(round_up(rest.size(), size_t{4}));
    std::memcpy(padded.data(), rest.data(), rest.size());
    const auto size = static_cast<int64_t>(rest.size());
    TAPML_ASSIGN(const uint32_t aside, context_->aside(0, static_cast<int64_t>(padded.size())));
    TAPML_TRY(context_->gpu().write(aside, 0, padded));
    TAPML_TRY(context_->add(GpuCommand::kCopyBytes,
                            {aside, 0, to.buffer(), offset + static_cast<int64_t>(whole), size}));
    return context_->flush();
  }

  Status copy_apart(uint32_t from, int64_t from_offset, uint32_t to, int64_t to_offset,
                    int64_t size) {
    const bool words = from_offset % 4 == 0 && to_offset % 4 == 0;
    const int64_t whole = words ? size / 4 * 4 : 0;
    if (whole > 0) {
      TAPML_TRY(context_->add(GpuCommand::kCopy, {from, from_offset, to, to_offset, whole}));
    }
    if (whole == size) return {};
    return context_->add(GpuCommand::kCopyBytes,
                         {from, from_offset + whole, to, to_offset + whole, size - whole});
  }

  // Less than a word.
  Status zero_bytes(uint32_t buffer, int64_t offset, int64_t size) {
    if (size == 0) return {};
    TAPML_ASSIGN(const uint32_t zeros, context_->aside(0, 4));
    TAPML_TRY(context_->add(GpuCommand::kFill, {zeros, 0, 4}));
    return context_->add(GpuCommand::kCopyBytes, {zeros, 0, buffer, offset, size});
  }

  const std::shared_ptr<WebGpuContext> context_;
  std::optional<Error> failed_;
};

}  // namespace

std::unique_ptr<DeviceQueue> create_webgpu_queue(std::shared_ptr<WebGpuContext> context) {
  return std::make_unique<WebGpuQueue>(std::move(context));
}

}  // namespace tapml::device
