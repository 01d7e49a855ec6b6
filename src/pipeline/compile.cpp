#include "pipeline/compile.h"

#include <set>

#include "arith/scalar_program.h"
#include "codegen/lower/segment_tensors.h"
#include "codegen/vm/lower.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "passes/lift_workspaces.h"
#include "passes/plan_memory.h"
#include "pipeline/build_kernels.h"
#include "pipeline/run.h"
#include "relax/kernel_call.h"
#include "relax/visit.h"
#include "text/printer.h"

namespace tapml::pipeline {

namespace {

constexpr const char* kPhase = "phase";
constexpr const char* kKernelsFixed = "fuse";
constexpr const char* kBoundaryPolicy = "boundary_policy";

// The signature table's entry: parameters as the kernel's callers know them.
KernelInfo kernel_info(const Module& module, const std::string& name) {
  const tir::PrimFunc& func = passes::kernel_implementation(module, name);
  KernelInfo info;
  info.name = name;
  for (const tir::Param& param : func.params) {
    ParamInfo out;
    out.name = param.buffer->name;
    out.dtype = param.buffer->dtype;
    out.mode = param.mode;
    for (const PrimExpr& dim : param.buffer->shape) {
      out.dims.push_back(arith::compile_scalar(dim, func.scalars));
    }
    info.params.push_back(std::move(out));
  }
  for (const Var& scalar : func.scalars) info.scalars.push_back(scalar->name);
  info.spec = text::print(passes::kernel_alone(module, name));
  return info;
}

// How many bindings a tensor takes: one, or its segments. PlatformError where it does not even fit
// in segments. Sizes that depend on symbols are checked before the launch, with the same error.
int64_t bindings_of(const ParamInfo& param, const Limits& limits, const std::string& where) {
  if (limits.max_binding_bytes == 0) return 1;
  int64_t rows = 1, row_bytes = static_cast<int64_t>(dtype_bytes(param.dtype));
  for (size_t d = 0; d < param.dims.size(); ++d) {
    Result<int64_t> value = evaluate(param.dims[d], {});
    if (!value) return 1;
    if (d == 0) {
      rows = *value;
    } else if (__builtin_mul_overflow(row_bytes, *value, &row_bytes)) {
      row_bytes = INT64_MAX;
    }
  }
  int64_t part = codegen::segment_rows(rows, row_bytes, limits);
  if (part == 0 && rows > 0) {
    throw_platform(PlatformFault::kLimit,
                   "tensor " + param.name + " has rows of " + std::to_string(row_bytes) +
                       " bytes; the platform binds at most " +
                       std::to_string(limits.max_binding_bytes),
                   where);
  }
  return part == rows ? 1 : (rows - 1) / part + 1;
}

// Refuses what is known to be beyond the platform's limits.
void check_limits(const KernelInfo& info, const target::Target& target) {
  const Limits& limits = target.description.limits;
  std::string where = "kernel " + info.name + " on " + target.text;
  int64_t count = 0;
  for (const ParamInfo& param : info.params) count += bindings_of(param, limits, where);
  if (limits.max_bindings > 0 && count > limits.max_bindings) {
    throw_platform(PlatformFault::kLimit,
                   "a kernel has " + std::to_string(count) +
                       " tensors and segments of tensors; the platform takes " +
                       std::to_string(limits.max_bindings),
                   where);
  }
}

// What the implementations of `executable` need as scratch memory, by kernel, over the scalars of
// its tensor program: each workspace aligned, in one storage.
std::map<std::string, PrimExpr> workspace_bytes(const Module& fixed, const Executable& executable) {
  std::map<std::string, PrimExpr> all;
  for (const Implementation& implementation : executable.implementations) {
    if (implementation.workspaces.empty()) continue;
    const std::string& name = executable.kernels[static_cast<size_t>(implementation.kernel)].name;
    const std::vector<Var>& scalars = passes::kernel_implementation(fixed, name).scalars;
    PrimExpr total = 0;
    for (const ParamInfo& workspace : implementation.workspaces) {
      PrimExpr bytes = static_cast<int64_t>(dtype_bytes(workspace.dtype));
      for (const ScalarProgram& dim : workspace.dims) {
        bytes = bytes * arith::scalar_expression(dim, scalars);
      }
      total =
          total + floordiv(bytes + (passes::kWorkspaceAlignment - 1), passes::kWorkspaceAlignment) *
                      passes::kWorkspaceAlignment;
    }
    all[name] = total;
  }
  return all;
}

// Storage made explicit, scratch memory of the implementations included.
Module plan(const Module& fixed, const Executable& executable, const ImplementOptions& options,
            int& number) {
  Module lifted = fixed;
  if (options.lift_workspaces) {
    const std::map<std::string, PrimExpr> bytes = workspace_bytes(fixed, executable);
    lifted = run_pass(
        fixed, "lift_workspaces",
        [&](const Module& module) { return passes::lift_given_workspaces(module, bytes); },
        options.instruments, number);
  }
  passes::PlanMemoryOptions memory = options.memory;
  if (options.rewrite) memory.in_place = false;
  return run_pass(
      lifted, "plan_memory",
      [&](const Module& module) { return passes::plan_memory_with(module, memory); },
      options.instruments, number);
}

std::string programs_text(const relax::Function& spec) {
  std::string text;
  for (const std::string& name : passes::programs_of(spec)) {
    text += (text.empty() ? "@" : ", @") + name;
  }
  return text;
}

}  // namespace

Module fix_kernels(const Module& module, const Instruments& instruments) {
  if (attr_or<std::string>(module.attrs, kPhase, "import") == kKernelsFixed) return module;
  Module current = module;
  int number = 0;
  for (const PassInfo& pass : pass_table()) {
    if (std::string(pass.phase) == "plan") break;
    current = run_pass(current, pass.name, pass.run, instruments, number);
  }
  current.attrs[kPhase] = std::string(kKernelsFixed);
  if (!current.attrs.contains(kBoundaryPolicy)) {
    current.attrs[kBoundaryPolicy] = std::string("default-1");
  }
  return current;
}

std::shared_ptr<const Executable> implement(const Module& fixed, const target::Target& target,
                                            const ImplementOptions& options) {
  auto executable = std::make_shared<Executable>();
  executable->target = target.text;
  executable->boundary_policy = attr_or<std::string>(fixed.attrs, kBoundaryPolicy, "");
  executable->model = model_interface_of(fixed.attrs);
  codegen::VmContext context;
  KernelBuilder builder(target, options, *executable);
  for (const auto& [name, function] : fixed.functions) {
    if (!passes::is_kernel(function.get())) continue;
    const tir::PrimFunc& func = passes::kernel_implementation(fixed, name);
    auto index = static_cast<int32_t>(executable->kernels.size());
    context.kernels[name] = {index, &func};
    executable->kernels.push_back(kernel_info(fixed, name));
    check_limits(executable->kernels.back(), target);
    builder.add(func, index, programs_text(passes::kernel_spec(fixed, name)));
  }
  builder.finish();
  int number = 50;
  Module planned = plan(fixed, *executable, options, number);
  if (options.planned) *options.planned = planned;
  double start = seconds_now();
  std::vector<std::pair<std::string, const relax::Function*>> functions;
  for (const auto& [name, function] : planned.functions) {
    const relax::Function* source = relax::as_relax_function(function.get());
    if (!source || passes::is_kernel(source)) continue;
    context.functions[name] = static_cast<int32_t>(functions.size());
    functions.emplace_back(name, source);
  }
  for (const auto& [name, function] : functions) {
    executable->functions.push_back(codegen::lower_function(name, *function, context, *executable));
  }
  add_time(options.instruments, "lower", seconds_now() - start);
  return executable;
}

std::shared_ptr<const Executable> compile(const Module& module, const target::Target& target,
                                          const ImplementOptions& options) {
  return implement(fix_kernels(module, options.instruments), target, options);
}

}  // namespace tapml::pipeline
