// Views of kernel-level steps as modules. Private to pipeline/.
#pragma once

#include <vector>

#include "ir/module.h"
#include "pipeline/lowered_kernel.h"

namespace tapml::pipeline {

// The tensor programs of the generated kernels in their current form. For a kernel K: the loops,
// under their name in the module; the form for tensors in segments, with the suffix "_parts"; after
// the split into launches, each of these as K_0 and so on.
Module kernel_programs(const std::vector<LoweredKernel>& kernels);
// `module` with these in place of its own programs, for tools that inspect a module.
Module with_kernel_programs(const Module& module, const std::vector<LoweredKernel>& kernels);

}  // namespace tapml::pipeline
