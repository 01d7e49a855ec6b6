// Kernels kept between compilations: native code, SPIR-V, OpenCL C.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "codegen/code_generator.h"
#include "exec/executable.h"
#include "io/host/disk_cache.h"
#include "target/target.h"

namespace tapml::pipeline {

// The program that compiles, to the build: its name, its version and its build id.
const std::string& compiler_identity();

struct CachedKernel {
  Implementation implementation;  // kernel and module are the executable's business: 0
  codegen::KernelCode code;
};

// By content: the key covers the kernel's text (specification and loops), the target, the
// processor, the options and the build of this program, so that an entry is never wrong, only
// unused. Safe to use from several threads.
class KernelCache {
 public:
  explicit KernelCache(std::shared_ptr<DiskCache> disk) : disk_(std::move(disk)) {}

  // Lower-case hexadecimal SHA-256.
  static std::string key(const std::string& kernel_text, const target::Target& target);

  std::optional<CachedKernel> find(const std::string& key);
  void keep(const std::string& key, const CachedKernel& kernel);

 private:
  std::shared_ptr<DiskCache> disk_;
};

}  // namespace tapml::pipeline
