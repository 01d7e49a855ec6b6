#include "pipeline/steps_for_target.h"

#include <functional>

#include "codegen/lower/check_program.h"
#include "passes/kernel.h"
#include "passes/lower_math.h"
#include "pipeline/optional_functions.h"
#include "schedule/rules.h"

namespace tapml::pipeline {

namespace {

Module on_every_kernel(const Module& module,
                       const std::function<tir::PrimFuncRef(const tir::PrimFunc&)>& step) {
  Module result = module;
  for (const auto& [name, function] : module.functions) {
    if (!passes::is_kernel(function.get())) continue;
    result.functions[function->facts.implementation] =
        step(passes::kernel_implementation(module, name));
  }
  return result;
}

}  // namespace

Module omit_unsupported_for(const Module& module, const target::Target& target) {
  std::vector<OmittedFunction> omitted_functions;
  return without_unsupported(
      module, target, [](const std::string&) { return false; }, omitted_functions);
}

Module schedule_for_target(const Module& module, const target::Target& target) {
  return on_every_kernel(module, [&](const tir::PrimFunc& program) {
    return schedule::schedule_for(program, target).func;
  });
}

Module lower_math_for_target(const Module& module, const target::Target& target) {
  if (target.description.accurate_math) return module;
  return on_every_kernel(module,
                         [](const tir::PrimFunc& program) { return passes::lower_math(program); });
}

Module check_programs_for_target(const Module& module, const target::Target& target) {
  for (const auto& [name, function] : module.functions) {
    if (!passes::is_kernel(function.get())) continue;
    const std::vector<std::string> programs =
        passes::programs_of(passes::kernel_spec(module, name));
    if (programs.empty()) continue;
    codegen::check_program(
        passes::kernel_implementation(module, name), target.description,
        "tensor program @" + programs[0] + ", kernel " + name + " on " + target.text);
  }
  return module;
}

}  // namespace tapml::pipeline
