#include "pipeline/library_kernels.h"

#include "arith/scalar_program.h"

namespace tapml::pipeline {

LibraryKernels::LibraryKernels(const target::Target& target, const ImplementOptions& options,
                               Executable& executable)
    : platform_(target.description.platform),
      options_(options),
      executable_(executable),
      chooser_(target, options.libraries) {}

bool LibraryKernels::add(const relax::Function& spec, const tir::PrimFunc& program,
                         int32_t kernel) {
  const std::string& name = executable_.kernels[static_cast<size_t>(kernel)].name;
  std::optional<library::Choice> choice = chooser_.choose(name, spec, program);
  if (!choice) return false;
  if (options_.rewrite && (!options_.rewrites || options_.rewrites(name))) {
    // What takes the place of a schedule takes that of a routine.
    auto given = std::make_shared<const tir::PrimFunc>(program);
    if (options_.rewrite(name, given) != given) return false;
  }
  LibraryCode code;
  code.entry = name;
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
  Implementation implementation;
  implementation.kernel = kernel;
  implementation.provider = "library:" + code.library + "." + code.routine;
  implementation.launches.push_back(std::move(launch));
  implementations_.push_back(executable_.implementations.size());
  executable_.implementations.push_back(std::move(implementation));
  code_.push_back(std::move(code));
  kernels_.insert(name);
  return true;
}

void LibraryKernels::finish() {
  if (code_.empty()) return;
  for (size_t i : implementations_) {
    executable_.implementations[i].module = static_cast<int32_t>(executable_.modules.size());
  }
  executable_.modules.push_back(write_library_module(platform_, code_));
}

}  // namespace tapml::pipeline
