// Kernels of the user's own (docs/custom-kernels.md) in the place of the compiler's.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "pipeline/compile.h"
#include "runtime/session.h"
#include "topdown/kernels/custom_source.h"

namespace tapml::topdown {

// The ending of source files for a target: ".cl", ".comp", ".c". UserError for a platform that
// takes none.
std::string user_source_ending(const target::Target& target);

// The sources in a folder that are in the target's language, by name. UserError for a folder or a
// header that cannot be read; a warning (base/log) where there is none.
std::vector<CustomSource> read_user_sources(const std::string& folder,
                                            const target::Target& target);

// Whether the header's name is that of `kernel`, with or without its hash.
bool names_kernel(const CustomSource& source, const std::string& kernel);

// Kernels of a module and the sources that take their place.
class CustomKernels {
 public:
  CustomKernels() = default;
  // Looks for the kernel of every source in `fixed`, a module whose kernels are formed: of exactly
  // the header's name, or of that name and any hash, with the header's signature. A source that
  // names the hash goes before one that does not. A warning for a source without a kernel;
  // UserError where no kernel of the name has the signature, and where two sources fit one kernel.
  CustomKernels(std::vector<CustomSource> sources, const Module& fixed);

  bool empty() const { return kernels_.empty(); }
  // Name of the kernel, and its source.
  std::map<std::string, const CustomSource*> kernels() const&;

  // The code of those that are kernels of `fixed`, for ImplementOptions::foreign. UserError with
  // the compiler's log where the system's cc or the compiler of shaders refuses a source, and for a
  // shader that does not fit its header. PlatformError where there is no cc.
  std::map<std::string, pipeline::ForeignKernel> compile(
      const Module& fixed, const target::Target& target,
      const std::function<bool()>& cancelled = {}) const;
  // Has the device take each module, where OpenCL's compiler runs: UserError with its log where it
  // refuses one, and for an entry that is not there.
  void check(const std::map<std::string, pipeline::ForeignKernel>& code,
             const target::Target& target, runtime::Session& session) const;

 private:
  std::vector<CustomSource> sources_;
  std::map<std::string, size_t> kernels_;  // index of the source
};

}  // namespace tapml::topdown
