// The code of lowered kernels. Private to pipeline/.
#pragma once

#include <string>
#include <vector>

#include "pipeline/lower_kernels.h"
#include "pipeline/lowered_kernel.h"

namespace tapml::pipeline {

// Whether the code of the target's kernels may be kept in a cache.
bool keeps_code(const KernelContext& context);
// The kernel's implementation and code from the cache, where they are there.
void find_cached(const KernelContext& context, const KernelInfo& info, LoweredKernel& kernel);

// Makes the code of all kernels that are generated, adds its modules to the executable, tells its
// implementations of them, and fills the cache.
void generate_code(const KernelContext& context, std::vector<LoweredKernel>& kernels,
                   Executable& executable);

}  // namespace tapml::pipeline
