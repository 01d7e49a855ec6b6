// Custom kernels (docs/custom-kernels.md) that replace the compiler's.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "pipeline/compile.h"
#include "runtime/session.h"
#include "topdown/kernels/custom_source.h"

namespace tapml::topdown {

// The file extension of sources for a target: ".cl", ".comp", ".c". UserError for a platform that
// does not support custom kernels.
std::string custom_source_ending(const target::Target& target);

// The sources in a folder that are in the target's language, by name. UserError for a folder or a
// header that cannot be read; a warning (base/log) if there is none.
std::vector<CustomSource> read_custom_sources(const std::string& folder,
                                              const target::Target& target);

// Whether the header names `kernel`, with or without its hash.
bool names_kernel(const CustomSource& source, const std::string& kernel);

// Kernels of a module and the sources that replace them.
class CustomKernels {
 public:
  CustomKernels() = default;
  // Finds the kernel of every source in `fixed`, a module after kernel formation: with exactly the
  // header's name, or with that name and any hash, and with the header's signature. A source that
  // names the hash takes precedence over one that does not. A warning for a source without a
  // kernel; UserError if no kernel of the name has the signature, and if two sources fit one
  // kernel.
  CustomKernels(std::vector<CustomSource> sources, const Module& fixed);

  bool empty() const { return kernels_.empty(); }
  // The source of each kernel, by name.
  std::map<std::string, const CustomSource*> kernels() const&;

  // The code of those that are kernels of `fixed`, for ImplementOptions::foreign. UserError with
  // the compiler's log if the system's cc or the shader compiler refuses a source, and for a shader
  // that does not fit its header. PlatformError if there is no cc.
  std::map<std::string, pipeline::ForeignKernel> compile(
      const Module& fixed, const target::Target& target,
      const std::function<bool()>& cancelled = {}) const;
  // Compiles each module on the device, for OpenCL: UserError with the log if its compiler refuses
  // one, and for a missing entry.
  void check(const std::map<std::string, pipeline::ForeignKernel>& code,
             const target::Target& target, runtime::Session& session) const;

 private:
  std::vector<CustomSource> sources_;
  std::map<std::string, size_t> kernels_;  // index of the source
};

}  // namespace tapml::topdown
