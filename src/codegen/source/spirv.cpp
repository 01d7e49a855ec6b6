#include <shaderc/shaderc.hpp>

#include "codegen/source/emitter.h"
#include "ir/exceptions.h"

namespace tapml::codegen {

std::vector<uint32_t> compile_glsl_to_spirv(const std::string& source, const std::string& name) {
  shaderc::Compiler compiler;
  shaderc::CompileOptions options;
  options.SetTargetEnvironment(shaderc_target_env_vulkan, shaderc_env_version_vulkan_1_1);
  options.SetOptimizationLevel(shaderc_optimization_level_performance);
  auto result = compiler.CompileGlslToSpv(source, shaderc_compute_shader, name.c_str(), options);
  if (result.GetCompilationStatus() != shaderc_compilation_status_success) {
    throw_internal("generated GLSL does not compile:\n" + result.GetErrorMessage(), name);
  }
  return {result.cbegin(), result.cend()};
}

}  // namespace tapml::codegen
