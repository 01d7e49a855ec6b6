// Kernels that library routines implement. Private to pipeline/.
#pragma once

#include <vector>

#include "library/choose.h"
#include "pipeline/lower_kernels.h"
#include "pipeline/lowered_kernel.h"

namespace tapml::pipeline {

class LibraryKernels {
 public:
  LibraryKernels(const target::Target& target, const ImplementOptions& options)
      : chooser_(target, options.libraries) {}

  // Implements the kernel with a routine, if there is a suitable one.
  void choose(const KernelContext& context, const relax::Function& spec,
              LoweredKernel& kernel) const;

 private:
  library::Chooser chooser_;
};

// Adds the module of all routine calls, if there are any.
void add_library_module(const KernelContext& context, const std::vector<LoweredKernel>& kernels,
                        Executable& executable);

}  // namespace tapml::pipeline
