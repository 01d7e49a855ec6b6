#include "codegen/lower/describe_launch.h"

#include "arith/scalar_program.h"

namespace tapml::codegen {

LaunchInfo describe_launch(const DeviceFunc& launch, const std::vector<Var>& scalars) {
  auto program = [&](const PrimExpr& value) { return arith::compile_scalar(value, scalars); };
  LaunchInfo info;
  info.entry = launch.entry;
  info.extent = program(launch.invocations());
  info.workgroup_threads = launch.workgroup_threads;
  info.buffers = launch.buffer_indices;
  info.scalars = launch.scalar_indices;
  for (const IndexLimit& limit : launch.limits) {
    info.limits.push_back({program(limit.value), limit.most, limit.what});
  }
  for (const PrimExpr& groups : launch.grid) info.grid.push_back(program(groups));
  for (const DeviceFunc::SharedBuffer& shared : launch.shared) {
    info.shared.push_back({program(shared.elements), shared_element_bytes(shared.dtype)});
  }
  return info;
}

}  // namespace tapml::codegen
