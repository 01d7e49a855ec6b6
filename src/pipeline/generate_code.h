// The code of lowered kernels. Private to pipeline/.
#pragma once

#include <string>
#include <vector>

#include "pipeline/lower_kernels.h"
#include "pipeline/lowered_kernel.h"

namespace tapml::pipeline {

// Whether the code of the target's kernels may be cached.
bool keeps_code(const KernelContext& context);
// Looks up the kernel's implementation and code in the cache.
void find_cached(const KernelContext& context, const KernelInfo& info, LoweredKernel& kernel);

// Compiles all generated kernels, adds their modules to the executable, records the modules in the
// implementations, and fills the cache.
void generate_code(const KernelContext& context, std::vector<LoweredKernel>& kernels,
                   Executable& executable);

}  // namespace tapml::pipeline
