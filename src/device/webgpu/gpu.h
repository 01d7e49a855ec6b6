// WebGPU as the device uses it. The browser's side is JavaScript, behind this interface.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace tapml::device {

// What the adapter says of itself.
struct GpuFacts {
  std::string name, version;  // of adapter and browser
  bool processor = false;     // it computes on a processor
  int64_t buffer_bytes = 0;   // limits: of a buffer
  int64_t binding_bytes = 0;
  int64_t bindings = 0;
  int64_t workgroup_bytes = 0;
  int64_t workgroup_threads = 0;
  int64_t groups = 0;  // in a dimension of a launch
};

// A pipeline-overridable constant.
struct GpuConstant {
  uint32_t number = 0;
  uint32_t value = 0;
};

// Work is a list of commands, each of several 32-bit words. Offsets and sizes are bytes.
enum class GpuCommand : uint32_t {
  // pipeline, groups in three dimensions, number of buffers, number of scalars; of each buffer its
  // number, offset and size; the scalars
  kDispatch = 1,
  kCopy,       // from, its offset, to, its offset, size: whole words of different buffers
  kFill,       // to, offset, size: zeros, whole words
  kCopyBytes,  // like kCopy, any bytes
};

// Buffers and pipelines have numbers above 0. Functions marked with (waits) return when what they
// did is done, the others before. Errors of submitted commands are returned by the next function
// that waits for them. kLost: the device is gone, and all calls fail.
class Gpu {
 public:
  virtual ~Gpu() = default;
  // (waits) kAbsent: the browser has no WebGPU or no adapter.
  virtual Result<GpuFacts> open() noexcept = 0;
  virtual Result<uint32_t> create_buffer(int64_t bytes) noexcept = 0;
  // After the submitted commands.
  virtual void destroy_buffer(uint32_t buffer) noexcept = 0;
  // (waits) The kernel `main` of a shader with bindings of `buffers` storage buffers and then a
  // uniform buffer; `name` is for people. InternalError kCompile with the lines of its errors.
  virtual Result<uint32_t> create_pipeline(const std::string& name, const std::string& wgsl,
                                           uint32_t buffers,
                                           std::span<const GpuConstant> constants) noexcept = 0;
  virtual void destroy_pipeline(uint32_t pipeline) noexcept = 0;
  // Whole words; copies them.
  virtual Status write(uint32_t buffer, int64_t offset,
                       std::span<const std::byte> bytes) noexcept = 0;
  virtual Status submit(std::span<const uint32_t> commands) noexcept = 0;
  // (waits) Whether submitted commands were valid and had memory.
  virtual Status check() noexcept = 0;
  // (waits) For all submitted commands.
  virtual Status finish() noexcept = 0;
  // (waits) Reads any bytes after all submitted commands.
  virtual Status read(uint32_t buffer, int64_t offset, std::span<std::byte> bytes) noexcept = 0;
};

}  // namespace tapml::device
