#include "codegen/code_generators.h"

#include "ir/exceptions.h"

namespace tapml::codegen {

namespace {

struct Row {
  const char* name;  // target::Description::code
  const CodeGenerator& (*generator)();
};

constexpr Row kGenerators[] = {
    {"native", native_generator}, {"opencl-c", opencl_c_generator}, {"glsl", glsl_generator},
    {"wgsl", wgsl_generator},     {"none", none_generator},
};

}  // namespace

const CodeGenerator& generator_of(const target::Target& target) {
  if (target.generator) return *target.generator;
  for (const Row& row : kGenerators) {
    if (target.description.code == row.name) return row.generator();
  }
  throw_internal("there is no code generator named \"" + target.description.code + "\"",
                 target.description.platform);
}

ModuleBlob compile_module(const std::vector<DeviceFunc>& launches, const target::Target& target) {
  const CodeGenerator& generator = generator_of(target);
  auto compiler = generator.compiler(target, 1);
  compiler->add("kernels", launches);
  return generator.link(compiler->finish({}), target);
}

}  // namespace tapml::codegen
