#include "pipeline/kernel_signature.h"

#include "arith/scalar_program.h"
#include "codegen/lower/segment_tensors.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "text/printer.h"

namespace tapml::pipeline {

namespace {

// Number of bindings that a tensor takes: one, or one for each segment. PlatformError if it does
// not fit even in segments. Symbolic sizes are checked before the launch, with the same error.
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

}  // namespace

KernelInfo kernel_signature(const Module& module, const std::string& name) {
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

}  // namespace tapml::pipeline
