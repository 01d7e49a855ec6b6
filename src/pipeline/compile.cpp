#include "pipeline/compile.h"

#include <algorithm>
#include <set>
#include <span>

#include "arith/scalar_program.h"
#include "base/clock.h"
#include "codegen/lower/segment_tensors.h"
#include "codegen/vm/lower.h"
#include "ir/exceptions.h"
#include "passes/fuse_ops.h"
#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "passes/lift_packing.h"
#include "passes/lift_workspaces.h"
#include "passes/mark_weights.h"
#include "passes/order_bindings.h"
#include "passes/plan_memory.h"
#include "pipeline/build_kernels.h"
#include "pipeline/library_kernels.h"
#include "pipeline/run.h"
#include "pipeline/scalar_bounds.h"
#include "relax/kernel_call.h"
#include "relax/visit.h"
#include "text/printer.h"

namespace tapml::pipeline {

namespace {

constexpr const char* kPhase = "phase";
constexpr const char* kPlanMemory = "plan_memory";
constexpr const char* kKernelsFixed = "fuse";
constexpr const char* kBoundaryPolicy = passes::kBoundaryPolicyAttr;

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

bool has_workspace(const Implementation& implementation) {
  for (const ParamInfo& tensor : implementation.workspaces) {
    if (tensor.mode == AccessMode::kWorkspace) return true;
  }
  return false;
}

// What the implementations of `executable` make of weights, by kernel.
std::map<std::string, passes::Packing> packings(const Executable& executable) {
  std::map<std::string, passes::Packing> all;
  for (const Implementation& implementation : executable.implementations) {
    if (!has_prepared(implementation)) continue;
    const KernelInfo& kernel = executable.kernels[static_cast<size_t>(implementation.kernel)];
    Result<int64_t> bytes = prepared_bytes(implementation);
    if (!bytes) throw_internal(bytes.error().message, "kernel " + kernel.name);
    all[kernel.name] = {prepared_sources(implementation, kernel), *bytes,
                        implementation.preparation};
  }
  return all;
}

// What the implementations of `executable` need as scratch memory, by kernel, over the scalars of
// its tensor program: each workspace aligned, in one storage.
std::map<std::string, PrimExpr> workspace_bytes(const Module& fixed, const Executable& executable) {
  std::map<std::string, PrimExpr> all;
  for (const Implementation& implementation : executable.implementations) {
    if (!has_workspace(implementation)) continue;
    const std::string& name = executable.kernels[static_cast<size_t>(implementation.kernel)].name;
    const std::vector<Var>& scalars = passes::kernel_implementation(fixed, name).scalars;
    PrimExpr total = 0;
    for (const ParamInfo& workspace : implementation.workspaces) {
      if (workspace.mode != AccessMode::kWorkspace) continue;
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
  // What is made of a kernel there may write where it should not: nothing else lies there.
  if (options.rewrite || !options.foreign.empty()) memory.in_place = memory.offsets = false;
  if (memory.order_for) {
    lifted = run_pass(
        lifted, "order_bindings",
        [&](const Module& module) {
          return passes::order_bindings_with(module, *memory.order_for);
        },
        options.instruments, number);
  }
  Module planned = run_pass(
      lifted, "plan_memory",
      [&](const Module& module) { return passes::plan_memory_with(module, memory); },
      options.instruments, number);
  const std::map<std::string, passes::Packing> made = packings(executable);
  if (made.empty()) return planned;
  return run_pass(passes::mark_packing(planned, made), "lift_packing", passes::lift_packing,
                  options.instruments, number);
}

// `fixed` where the programs of the kernels that routines or foreign code implement say so:
// planning then knows that nothing is known of how they read and write.
Module with_libraries(const Module& fixed, const std::set<std::string>& kernels) {
  Module result = fixed;
  for (const std::string& name : kernels) {
    const tir::PrimFunc& program = passes::kernel_implementation(fixed, name);
    auto copy = std::make_shared<tir::PrimFunc>(program);
    copy->attrs[passes::kLibraryAttr] = true;
    result.functions[*find_attr<std::string>(passes::kernel_spec(fixed, name).attrs,
                                             passes::kImplementationAttr)] = std::move(copy);
  }
  return result;
}

// Modules of foreign code follow those that are made here.
void add_foreign_modules(const std::map<std::string, ForeignKernel>& foreign,
                         Executable& executable) {
  for (Implementation& implementation : executable.implementations) {
    auto it = foreign.find(executable.kernels[static_cast<size_t>(implementation.kernel)].name);
    if (it == foreign.end()) continue;
    implementation.module = static_cast<int32_t>(executable.modules.size());
    executable.modules.push_back(it->second.module);
  }
}

std::string programs_text(const relax::Function& spec) {
  std::string text;
  for (const std::string& name : passes::programs_of(spec)) {
    text += (text.empty() ? "@" : ", @") + name;
  }
  return text;
}

bool is_skipped(const Instruments& instruments, const std::string& name) {
  return std::find(instruments.skip.begin(), instruments.skip.end(), name) !=
         instruments.skip.end();
}

void check_optional(const std::string& pass, const std::string& where) {
  const std::vector<std::string>& optional = optional_passes();
  if (std::find(optional.begin(), optional.end(), pass) != optional.end()) return;
  std::string known;
  for (const std::string& one : optional) known += one + ", ";
  throw_user("this pass cannot be left out", where, "some of " + known + kPlanMemory, pass);
}

}  // namespace

void leave_out(const std::vector<std::string>& passes, const std::string& where,
               ImplementOptions& options) {
  for (const std::string& pass : passes) {
    if (pass == kPlanMemory) {
      options.memory.reuse = false;
      continue;
    }
    check_optional(pass, where);
    options.instruments.skip.push_back(pass);
  }
}

Module fix_kernels(const Module& module, const Instruments& instruments) {
  if (attr_or<std::string>(module.attrs, kPhase, "import") == kKernelsFixed) return module;
  for (const std::string& name : instruments.skip) check_optional(name, "skip");
  Module current = module;
  int number = 0;
  const auto plan = std::ranges::find(pass_table(), std::string("plan"), &PassInfo::phase);
  const std::span<const PassInfo> passes(pass_table().begin(), plan);
  for (size_t i = 0; i < passes.size(); ++i) {
    const PassInfo& pass = passes[i];
    tell(instruments.watcher, {"passes", static_cast<int64_t>(i), std::ssize(passes), ""});
    if (is_skipped(instruments, pass.name)) continue;
    current = run_pass(current, pass.name, pass.run, instruments, number);
  }
  tell(instruments.watcher, {"passes", std::ssize(passes), std::ssize(passes), ""});
  current.attrs[kPhase] = std::string(kKernelsFixed);
  if (!current.attrs.contains(kBoundaryPolicy)) {
    current.attrs[kBoundaryPolicy] = std::string(passes::kDefaultBoundaryPolicy);
  }
  for (const std::string& name : instruments.skip) {
    current.attrs[kBoundaryPolicy] =
        attr_or<std::string>(current.attrs, kBoundaryPolicy, "") + "+without:" + name;
  }
  return current;
}

std::shared_ptr<const Executable> implement(const Module& kernels, const target::Target& target,
                                            const ImplementOptions& options) {
  std::vector<LeftOut> left_out;
  const Module fixed = without_unsupported(
      options.prepare ? kernels : passes::unmark_weights(kernels), target,
      [&](const std::string& kernel) { return options.foreign.contains(kernel); }, left_out);
  if (options.left_out) *options.left_out = std::move(left_out);
  auto executable = std::make_shared<Executable>();
  executable->target = target.text;
  executable->boundary_policy = attr_or<std::string>(fixed.attrs, kBoundaryPolicy, "");
  executable->model = unwrap(model_interface_of(fixed.attrs));
  codegen::VmContext context;
  KernelBuilder builder(target, options, *executable);
  LibraryKernels libraries(target, options, *executable);
  // Where bindings have no limit, nobody asks how large a tensor can get.
  std::map<std::string, std::vector<std::optional<int64_t>>> bounds;
  if (target.description.limits.max_binding_bytes > 0) {
    bounds = scalar_bounds(fixed, options.memory.bounds);
  }
  const auto kernel_count = std::ranges::count_if(
      fixed.functions, [](const auto& one) { return passes::is_kernel(one.second.get()); });
  for (const auto& [name, function] : fixed.functions) {
    if (!passes::is_kernel(function.get())) continue;
    const tir::PrimFunc& func = passes::kernel_implementation(fixed, name);
    auto index = static_cast<int32_t>(executable->kernels.size());
    tell(options.instruments.watcher, {"schedule", index, kernel_count, "kernels"});
    context.kernels[name] = {index, &func};
    executable->kernels.push_back(kernel_info(fixed, name));
    check_limits(executable->kernels.back(), target);
    if (auto it = options.foreign.find(name); it != options.foreign.end()) {
      executable->implementations.push_back(it->second.implementation);
      executable->implementations.back().kernel = index;
      continue;
    }
    const relax::Function& spec = passes::kernel_spec(fixed, name);
    const bool any_routine = !options.from_libraries || options.from_libraries(name);
    if (!any_routine || !libraries.add(spec, func, index)) {
      builder.add(func, index, programs_text(spec), bounds[name]);
    }
  }
  tell(options.instruments.watcher, {"schedule", kernel_count, kernel_count, "kernels"});
  builder.finish();
  libraries.finish();
  add_foreign_modules(options.foreign, *executable);
  int number = 50;
  std::set<std::string> opaque = libraries.kernels();
  for (const auto& [name, code] : options.foreign) {
    if (context.kernels.contains(name)) opaque.insert(name);
  }
  Module planned = plan(with_libraries(fixed, opaque), *executable, options, number);
  if (options.planned) *options.planned = planned;
  double start = seconds_now();
  const auto functions = passes::graph_functions(planned);
  for (const auto& [name, function] : functions) {
    context.functions.emplace(name, static_cast<int32_t>(context.functions.size()));
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
