#include "pipeline/library_kernels.h"

#include "arith/scalar_program.h"

namespace tapml::pipeline {

void LibraryKernels::choose(const KernelContext& context, const relax::Function& spec,
                            LoweredKernel& kernel) const {
  const tir::PrimFunc& program = *kernel.loops;
  std::optional<library::Choice> choice = chooser_.choose(kernel.name, spec, program);
  if (!choice) return;
  // A kernel with a replaced schedule cannot use a library routine.
  if (may_be_rewritten(context, kernel) &&
      context.options.rewrite(kernel.name, kernel.loops) != kernel.loops) {
    return;
  }
  LibraryCode code;
  code.entry = kernel.name;
  code.library = choice->library;
  code.routine = choice->routine;
  code.parameters = std::move(choice->parameters);
  LaunchInfo launch;
  launch.entry = code.entry;
  launch.extent = ScalarProgram::constant(1);
  for (size_t i = 0; i < program.scalars.size(); ++i) {
    launch.scalars.push_back(static_cast<int32_t>(i));
  }
  auto add_tensors = [&](const std::vector<library::Operand>& operands,
                         std::vector<LibraryTensor>& tensors) {
    for (const library::Operand& operand : operands) {
      LibraryTensor tensor{operand.dtype, {}};
      for (const PrimExpr& dim : operand.dims) {
        tensor.dims.push_back(arith::compile_scalar(dim, program.scalars));
      }
      tensors.push_back(std::move(tensor));
      launch.buffers.push_back(operand.param);
    }
  };
  add_tensors(choice->inputs, code.inputs);
  add_tensors(choice->outputs, code.outputs);
  kernel.source = LoweredKernel::Source::kRoutine;
  kernel.implementation.provider = "library:" + code.library + "." + code.routine;
  kernel.implementation.launches.push_back(std::move(launch));
  kernel.routine = std::move(code);
}

void add_library_module(const KernelContext& context, const std::vector<LoweredKernel>& kernels,
                        Executable& executable) {
  std::vector<LibraryCode> code;
  for (const LoweredKernel& kernel : kernels) {
    if (kernel.source != LoweredKernel::Source::kRoutine) continue;
    executable.implementations[kernel.number].module =
        static_cast<int32_t>(executable.modules.size());
    code.push_back(kernel.routine);
  }
  if (code.empty()) return;
  executable.modules.push_back(write_library_module(context.target.description.platform, code));
}

}  // namespace tapml::pipeline
