// Cache of compiled kernels: native code, SPIR-V, OpenCL C.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "codegen/code_generator.h"
#include "exec/executable.h"
#include "io/host/disk_cache.h"
#include "target/target.h"

namespace tapml::pipeline {

// Identity of this build of the compiler: its name, version and build id.
const std::string& compiler_identity();

struct CachedKernel {
  Implementation implementation;  // kernel and module are 0: they depend on the executable
  codegen::KernelCode code;
};

// Content-addressed: the key covers the kernel's text (specification and loops), the target, the
// processor, the options and the build of this program, so an entry may be unused but never wrong.
// Thread-safe.
class KernelCache {
 public:
  explicit KernelCache(std::shared_ptr<DiskCache> disk) : disk_(std::move(disk)) {}

  // SHA-256 in lower-case hexadecimal.
  static std::string key(const std::string& kernel_text, const target::Target& target);

  std::optional<CachedKernel> find(const std::string& key);
  void keep(const std::string& key, const CachedKernel& kernel);

 private:
  std::shared_ptr<DiskCache> disk_;
};

}  // namespace tapml::pipeline
