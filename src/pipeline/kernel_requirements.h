// What lowered kernels ask of their callers, in the module. Private to pipeline/.
#pragma once

#include <vector>

#include "pipeline/kernel_workers.h"
#include "pipeline/lowered_kernel.h"

namespace tapml::pipeline {

// What the implementation of a kernel with loops of this kind asks for: workspaces and prepared
// weights as it has them, and the outputs that may take over an input's storage, by the loops;
// none where the code is not made of these.
tir::Requirements requirements_of(const LoweredKernel& kernel, const KernelInfo& info);

// The module whose kernels' tensor programs have the requirements, by the numbers of the kernels.
// Memory is planned from them alone.
Module with_requirements(const Module& module, const std::vector<LoweredKernel>& kernels,
                         std::vector<tir::Requirements> requirements);

}  // namespace tapml::pipeline
