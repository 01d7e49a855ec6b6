// What kernel-level steps work on, as modules. Private to pipeline/.
#pragma once

#include <vector>

#include "ir/module.h"
#include "pipeline/lowered_kernel.h"

namespace tapml::pipeline {

// The tensor programs of the kernels that are generated, as the steps so far left them: of a kernel
// K the loops, under the name that the module has for them; the same for tensors in segments, with
// "_parts" behind the name; once there are launches each of them, K_0 and so on.
Module kernel_programs(const std::vector<LoweredKernel>& kernels);
// `module` with these in the place of its own: what counts functions sees those of this step.
Module with_kernel_programs(const Module& module, const std::vector<LoweredKernel>& kernels);

}  // namespace tapml::pipeline
