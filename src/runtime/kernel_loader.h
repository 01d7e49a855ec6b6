// Turns host code into callable functions. The JIT implements it (codegen/llvm), so the cpu device
// needs no LLVM.
#pragma once

#include <memory>

#include "exec/executable.h"

namespace tapml::runtime {

// A cpu device kernel: runs iterations [begin, end) of its launch.
using CpuKernel = void (*)(void* const* buffers, const int64_t* scalars, int64_t begin,
                           int64_t end);

class HostCode {
 public:
  virtual ~HostCode() = default;
  virtual Result<CpuKernel> find(const std::string& entry) noexcept = 0;
};

class KernelLoader {
 public:
  virtual ~KernelLoader() = default;
  // PlatformError (kAbsent) for code that requires CPU features that this machine lacks.
  virtual Result<std::shared_ptr<HostCode>> load(const ModuleBlob& blob) noexcept = 0;
};

}  // namespace tapml::runtime
