// Records in the module what lowered kernels require of their callers. Private to pipeline/.
#pragma once

#include <vector>

#include "pipeline/kernel_workers.h"
#include "pipeline/lowered_kernel.h"

namespace tapml::pipeline {

// The requirements of a kernel's implementation: its workspaces and prepared weights, and the
// outputs that may reuse an input's storage. The latter follow from the loops; there are none if
// the code was not generated from these.
tir::Requirements requirements_of(const LoweredKernel& kernel, const KernelInfo& info);

// The module with requirements on the kernels' tensor programs, by kernel number. Memory is planned
// from them alone.
Module with_requirements(const Module& module, const std::vector<LoweredKernel>& kernels,
                         std::vector<tir::Requirements> requirements);

}  // namespace tapml::pipeline
