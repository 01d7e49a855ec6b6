// What the parts of a WebGPU device share: the GPU, its memory and the commands that it will get.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "device/webgpu/gpu.h"
#include "runtime/device.h"

namespace tapml::device {

// All queues of a device fill one list of commands, so all work is in the order in which it was
// enqueued.
class WebGpuContext {
 public:
  static Result<std::shared_ptr<WebGpuContext>> open(std::shared_ptr<Gpu> gpu);
  ~WebGpuContext();
  WebGpuContext(const WebGpuContext&) = delete;
  WebGpuContext& operator=(const WebGpuContext&) = delete;

  Gpu& gpu() { return *gpu_; }
  const DeviceInfo& info() const { return info_; }
  // Work groups in a dimension of a launch.
  int64_t most_groups() const { return facts_.groups; }

  // Appends a command; a long list is submitted.
  Status add(GpuCommand command, std::span<const uint32_t> words);
  Status add(GpuCommand command, std::initializer_list<int64_t> words);
  // Submits the list.
  Status flush();

  // A buffer of its own for argument `index` of a launch without memory.
  Result<uint32_t> empty_buffer(size_t index);
  // Buffer `index` of a launch for copies of at least `bytes`; its contents last until the next
  // launch.
  Result<uint32_t> aside(size_t index, int64_t bytes);

 private:
  struct Aside {
    uint32_t buffer = 0;
    int64_t bytes = 0;
  };
  WebGpuContext(std::shared_ptr<Gpu> gpu, GpuFacts facts);
  Status submit_long_list();

  const std::shared_ptr<Gpu> gpu_;
  const GpuFacts facts_;
  DeviceInfo info_;
  std::vector<uint32_t> commands_;
  std::vector<uint32_t> empty_;
  std::vector<Aside> aside_;
};

// The buffer holds whole words and at least one binding of four.
class WebGpuMemory final : public runtime::DeviceMemory {
 public:
  static Result<std::shared_ptr<WebGpuMemory>> create(std::shared_ptr<WebGpuContext> context,
                                                      int64_t bytes);
  ~WebGpuMemory() override;
  WebGpuMemory(const WebGpuMemory&) = delete;
  WebGpuMemory& operator=(const WebGpuMemory&) = delete;

  int64_t size() const noexcept override { return size_; }
  uint32_t buffer() const { return buffer_; }
  // Of the buffer.
  int64_t buffer_bytes() const;

 private:
  WebGpuMemory(std::shared_ptr<WebGpuContext> context, uint32_t buffer, int64_t size)
      : context_(std::move(context)), buffer_(buffer), size_(size) {}
  const std::shared_ptr<WebGpuContext> context_;
  const uint32_t buffer_;
  const int64_t size_;
};

inline WebGpuMemory& webgpu_memory(runtime::DeviceMemory& memory) {
  return static_cast<WebGpuMemory&>(memory);
}

}  // namespace tapml::device
