#include "pipeline/kernel_programs.h"

#include "codegen/lower/launch_program.h"

namespace tapml::pipeline {

Module kernel_programs(const std::vector<LoweredKernel>& kernels) {
  Module programs;
  for (const LoweredKernel& kernel : kernels) {
    if (!kernel.is_generated()) continue;
    if (kernel.forms.empty()) programs.functions[kernel.loops_name] = kernel.loops;
    for (const KernelForm& form : kernel.forms) {
      if (form.lowered.launches.empty()) {
        programs.functions[kernel.loops_name + (form.whole ? "" : "_parts")] = form.program;
      }
      for (const codegen::DeviceFunc& launch : form.lowered.launches) {
        programs.functions[launch.entry] = codegen::launch_program(launch);
      }
    }
  }
  return programs;
}

Module with_kernel_programs(const Module& module, const std::vector<LoweredKernel>& kernels) {
  Module result = module;
  for (const LoweredKernel& kernel : kernels) {
    if (kernel.is_generated()) result.functions.erase(kernel.loops_name);
  }
  for (auto& [name, program] : kernel_programs(kernels).functions) {
    result.functions[name] = program;
  }
  return result;
}

}  // namespace tapml::pipeline
