#include "pipeline/kernel_requirements.h"

#include <memory>

#include "arith/scalar_program.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "passes/lift_workspaces.h"
#include "passes/memory/in_place.h"

namespace tapml::pipeline {

namespace {

// Total size in bytes of the aligned workspaces in one storage; null if there are none.
PrimExpr workspace_of(const Implementation& implementation, const std::vector<Var>& scalars) {
  PrimExpr total;
  for (const ParamInfo& workspace : implementation.workspaces) {
    if (workspace.mode != AccessMode::kWorkspace) continue;
    PrimExpr bytes = static_cast<int64_t>(dtype_bytes(workspace.dtype));
    for (const ScalarProgram& dim : workspace.dims) {
      bytes = bytes * arith::scalar_expression(dim, scalars);
    }
    constexpr int64_t kAlignment = passes::kWorkspaceAlignment;
    total =
        (total ? total : PrimExpr(0)) + floordiv(bytes + (kAlignment - 1), kAlignment) * kAlignment;
  }
  return total;
}

}  // namespace

tir::Requirements requirements_of(const LoweredKernel& kernel, const KernelInfo& info) {
  tir::Requirements requirements;
  const Implementation& implementation = kernel.implementation;
  const tir::PrimFunc& loops = *kernel.loops;
  requirements.workspace = workspace_of(implementation, loops.scalars);
  if (has_prepared(implementation)) {
    Result<int64_t> bytes = prepared_bytes(implementation);
    if (!bytes) throw_internal(bytes.error().message, "kernel " + kernel.name);
    requirements.prepared = {prepared_sources(implementation, info), *bytes,
                             implementation.preparation};
  }
  const bool of_loops = kernel.source == LoweredKernel::Source::kGenerated ||
                        kernel.source == LoweredKernel::Source::kCached;
  for (size_t output = 0; of_loops && output < loops.params.size(); ++output) {
    if (loops.params[output].mode != AccessMode::kOut) continue;
    for (size_t input = 0; input < loops.params.size(); ++input) {
      if (!passes::may_compute_in_place(loops, input, output)) continue;
      requirements.in_place.push_back({static_cast<int32_t>(input), static_cast<int32_t>(output)});
    }
  }
  return requirements;
}

Module with_requirements(const Module& module, const std::vector<LoweredKernel>& kernels,
                         std::vector<tir::Requirements> requirements) {
  Module result = module;
  for (const LoweredKernel& kernel : kernels) {
    auto program = std::make_shared<tir::PrimFunc>(*kernel.loops);
    program->requirements = std::move(requirements[kernel.number]);
    const relax::Function& spec = passes::kernel_spec(module, kernel.name);
    result.functions[spec.facts.implementation] = std::move(program);
  }
  return result;
}

}  // namespace tapml::pipeline
