#include "pipeline/lower_kernels.h"

#include "arith/scalar_program.h"
#include "codegen/lower/check_program.h"
#include "codegen/lower/describe_launch.h"
#include "codegen/lower/narrow_index.h"
#include "passes/lower_math.h"
#include "pipeline/unproved_kernels.h"
#include "schedule/rules.h"

namespace tapml::pipeline {

namespace {

std::string where_of(const KernelContext& context, const LoweredKernel& kernel) {
  return "kernel " + kernel.name + " on " + context.target.text;
}

// Rows left in the fullest binding if only the first segment is needed; null if the kernel has a
// single form.
// there is one form only.
PrimExpr rows_left(const LoweredKernel& kernel) {
  PrimExpr left;
  for (const codegen::SegmentedFunc::Rows& rows : kernel.symbolic) {
    PrimExpr own = PrimExpr(rows.each) - rows.count;
    left = left ? min(left, own) : own;
  }
  return left;
}

}  // namespace

bool may_be_rewritten(const KernelContext& context, const LoweredKernel& kernel) {
  const ImplementOptions& options = context.options;
  return options.rewrite && (!options.rewrites || options.rewrites(kernel.name));
}

void schedule(const KernelContext& context, LoweredKernel& kernel) {
  if (kernel.scheduled) return;
  const schedule::Scheduled made = kernel.by_rules
                                       ? schedule::schedule_for(*kernel.loops, context.target)
                                       : schedule::fallback(*kernel.loops, context.target);
  kernel.scheduled = made.func;
  const std::string written = provider_of_written(*kernel.loops);
  kernel.implementation.provider = written.empty() ? "schedule:" + made.rule : written;
  kernel.forms = {{.prefix = kernel.name, .program = kernel.scheduled}};
}

void rewrite(const KernelContext& context, LoweredKernel& kernel) {
  tir::PrimFuncRef given = context.options.rewrite(kernel.name, kernel.scheduled);
  kernel.rewritten = given != kernel.scheduled;
  kernel.scheduled = std::move(given);
  kernel.forms = {{.prefix = kernel.name, .program = kernel.scheduled}};
}

void segment(const KernelContext& context, LoweredKernel& kernel) {
  const Limits& limits = context.target.description.limits;
  codegen::SegmentedFunc whole = codegen::segment_tensors(*kernel.scheduled, limits);
  codegen::SegmentedFunc parts =
      codegen::segment_tensors(*kernel.scheduled, limits, true, kernel.most);
  kernel.forms = {
      {.prefix = kernel.name, .program = whole.func, .segments = std::move(whole.segments)}};
  kernel.symbolic = std::move(parts.symbolic);
  if (kernel.symbolic.empty()) return;
  kernel.forms.push_back({.prefix = kernel.name + "_parts",
                          .whole = false,
                          .program = parts.func,
                          .segments = std::move(parts.segments)});
}

void lower_math(const KernelContext& context, LoweredKernel& kernel) {
  if (context.target.description.accurate_math) return;
  for (KernelForm& form : kernel.forms) form.program = passes::lower_math(*form.program);
}

void check_programs(const KernelContext& context, LoweredKernel& kernel) {
  if (kernel.programs.empty()) return;
  const std::string where = "tensor program " + kernel.programs + ", " + where_of(context, kernel);
  for (const KernelForm& form : kernel.forms) {
    codegen::check_program(*form.program, context.target.description, where);
  }
}

void lower_launches(const KernelContext&, LoweredKernel& kernel) {
  for (KernelForm& form : kernel.forms) {
    form.lowered = codegen::lower_prim_func(*form.program, form.prefix);
  }
}

void narrow_indices(const KernelContext& context, LoweredKernel& kernel) {
  const target::Description& description = context.target.description;
  if (description.index_bits != 32) return;
  const bool wide = description.features.compute_dtypes.contains(DType::kI64);
  const bool must = context.generator.needs_narrow_index();
  for (KernelForm& form : kernel.forms) {
    for (codegen::DeviceFunc& launch : form.lowered.launches) {
      codegen::narrow_index(launch, wide, where_of(context, kernel), must);
    }
  }
}

void find_preparation(const KernelContext& context, LoweredKernel& kernel) {
  for (KernelForm& form : kernel.forms) {
    const std::optional<std::vector<int64_t>>& weights = form.program->facts.weights;
    // Prepared weights are bound whole and indexed with 64 bits.
    const bool may = weights && form.whole && form.segments.empty() &&
                     context.target.description.index_bits == 64;
    form.preparation = codegen::find_preparation(form.lowered, form.program->params.size(),
                                                 may ? *weights : std::vector<int64_t>());
  }
}

void describe_launches(const KernelContext&, LoweredKernel& kernel) {
  Implementation& implementation = kernel.implementation;
  const PrimExpr left = rows_left(kernel);
  const auto own = static_cast<int32_t>(kernel.loops->params.size());
  for (KernelForm& form : kernel.forms) {
    const std::vector<Var>& scalars = form.program->scalars;
    auto program = [&](const PrimExpr& value) { return arith::compile_scalar(value, scalars); };
    // The last form's segments and workspaces become the implementation's.
    implementation.preparation = form.preparation.digest;
    implementation.segments = form.segments;
    implementation.workspaces.clear();
    for (const tir::Buffer& workspace : form.lowered.workspaces) {
      const bool prepared = form.preparation.workspaces[implementation.workspaces.size()];
      ParamInfo info;
      info.name = workspace->name;
      info.dtype = workspace->dtype;
      info.mode = prepared ? AccessMode::kPrepared : AccessMode::kWorkspace;
      for (const PrimExpr& dim : workspace->shape) info.dims.push_back(program(dim));
      implementation.workspaces.push_back(std::move(info));
    }
    const auto parts = static_cast<int32_t>(form.segments.size());
    const auto workspaces = static_cast<int32_t>(form.lowered.workspaces.size());
    for (size_t number = 0; number < form.lowered.launches.size(); ++number) {
      codegen::DeviceFunc& launch = form.lowered.launches[number];
      // The program has its segments before the workspaces, the executable after them.
      for (int32_t& index : launch.buffer_indices) {
        if (index < own) continue;
        index += index < own + parts ? workspaces : -parts;
      }
      LaunchInfo info = codegen::describe_launch(launch, scalars);
      info.prepares = form.preparation.launches[number];
      if (left) info.when = program(form.whole ? left : PrimExpr(-1) - left);
      for (const codegen::SegmentedFunc::Rows& rows : kernel.symbolic) {
        if (form.whole) break;
        const std::string& tensor =
            form.program->params[static_cast<size_t>(rows.param)].buffer->name;
        info.limits.push_back(
            {program(rows.count), rows.most,
             "number of rows of " + tensor + ", in segments of " + std::to_string(rows.each)});
      }
      implementation.launches.push_back(std::move(info));
    }
  }
}

}  // namespace tapml::pipeline
