// The steps from a kernel's loops to its launches. Private to pipeline/.
#pragma once

#include "pipeline/compile.h"
#include "pipeline/kernel_workers.h"
#include "pipeline/lowered_kernel.h"

namespace tapml::pipeline {

struct KernelContext {
  const target::Target& target;
  const ImplementOptions& options;
  const codegen::CodeGenerator& generator;
};

// Whether ImplementOptions::rewrite may change the kernel.
bool may_be_rewritten(const KernelContext& context, const LoweredKernel& kernel);

// Each step applies to generated kernels and changes only its kernel. All except rewrite() may run
// on any thread.
void schedule(const KernelContext& context, LoweredKernel& kernel);  // does nothing if there is a
                                                                     // schedule
void rewrite(const KernelContext& context, LoweredKernel& kernel);
void segment(const KernelContext& context, LoweredKernel& kernel);
void lower_math(const KernelContext& context, LoweredKernel& kernel);
void check_programs(const KernelContext& context, LoweredKernel& kernel);
void lower_launches(const KernelContext& context, LoweredKernel& kernel);
void narrow_indices(const KernelContext& context, LoweredKernel& kernel);
void find_preparation(const KernelContext& context, LoweredKernel& kernel);
// Fills in kernel.implementation: workspaces and launches in the executable's form.
void describe_launches(const KernelContext& context, LoweredKernel& kernel);

}  // namespace tapml::pipeline
