#include "codegen/lower/launch_program.h"

#include <memory>

#include "tir/visit.h"

namespace tapml::codegen {

tir::PrimFuncRef launch_program(const DeviceFunc& launch) {
  auto program = std::make_shared<tir::PrimFunc>();
  program->params = launch.buffers;
  // A buffer that an earlier launch wrote is an input of this one.
  const auto stored = tir::stored_buffers(launch.body);
  for (tir::Param& param : program->params) {
    if (param.mode == AccessMode::kOut && !stored.contains(param.buffer.get())) {
      param.mode = AccessMode::kIn;
    }
  }
  program->scalars = launch.scalars;
  PrimExpr extent = launch.extent;
  if (launch.index != DType::kI64) {
    // The extent is an expression over the host's 64-bit scalars, which have the same names.
    VarMap narrow;
    for (const Var& var : free_vars(extent)) {
      for (const Var& scalar : launch.scalars) {
        if (scalar->name == var->name) narrow[var.get()] = cast(DType::kI64, scalar);
      }
    }
    extent = cast(launch.index, substitute(extent, narrow));
  }
  program->body = tir::make_for(launch.item, extent, launch.body,
                                launch.thread ? tir::ForKind::kWorkgroup : tir::ForKind::kParallel);
  if (launch.workgroup_threads > 1) {
    program->facts.workgroup_threads = launch.workgroup_threads;
  }
  return program;
}

}  // namespace tapml::codegen
