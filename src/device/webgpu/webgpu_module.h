// Kernels in WGSL.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/webgpu/webgpu_context.h"

namespace tapml::device {

// A kernel; its first launch compiles it.
class WebGpuKernel final : public runtime::DeviceKernel {
 public:
  enum class Access : uint8_t { kIn, kOut, kInOut };

  // InternalError if the text does not begin with "// access:" and a mode of each buffer.
  static Result<std::shared_ptr<WebGpuKernel>> create(std::shared_ptr<WebGpuContext> context,
                                                      std::string entry, std::string wgsl);
  ~WebGpuKernel() override;
  WebGpuKernel(const WebGpuKernel&) = delete;
  WebGpuKernel& operator=(const WebGpuKernel&) = delete;

  const std::string& entry() const { return entry_; }
  // Of each buffer of a launch.
  const std::vector<Access>& access() const { return access_; }
  // The pipeline for work groups and shared buffers of these sizes.
  Result<uint32_t> pipeline(int64_t threads, std::span<const SharedSize> shared);

 private:
  using Constants = std::vector<uint32_t>;  // values
  WebGpuKernel(std::shared_ptr<WebGpuContext> context, std::string entry, std::string wgsl)
      : context_(std::move(context)), entry_(std::move(entry)), wgsl_(std::move(wgsl)) {}
  Status read_access();

  const std::shared_ptr<WebGpuContext> context_;
  const std::string entry_, wgsl_;
  std::vector<Access> access_;
  std::vector<std::pair<Constants, uint32_t>> pipelines_;  // the last used first
};

// Format "wgsl": for each entry, in order, the size of its text as u32 (little endian) and the
// text, a shader with the entry point `main`. Its first line is "// access: in out inout", the
// access of each buffer. Binding i of group 0 is buffer i, as storage for reading and writing; the
// binding after them is a uniform buffer of the scalars and the extent, four i32 to a vector. The
// overridable constant 0, if there is one, is the size of a work group; those from 1000 on are the
// elements of the shared buffers of symbolic size.
Result<std::shared_ptr<runtime::DeviceModule>> load_webgpu_module(
    std::shared_ptr<WebGpuContext> context, const ModuleBlob& blob);

}  // namespace tapml::device
