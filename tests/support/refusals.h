// Programs that targets refuse by design.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/code_generators.h"
#include "ir/exceptions.h"
#include "pipeline/compile.h"
#include "target/target.h"

namespace tapml::testing {

// Whether the error is a declared refusal of the target: GLSL has no functions of f64.
inline bool is_declared_refusal(const Error& error, const target::Target& target) {
  return codegen::generator_of(target).language() == "glsl" && error.kind == ErrorKind::kPlatform &&
         error.fault == PlatformFault::kLimit && error.message.find(" of f64") != std::string::npos;
}

inline std::shared_ptr<const Executable> compile_or_null(const Module& module,
                                                         const target::Target& target) {
  try {
    return pipeline::compile(module, target);
  } catch (const CompilerException& exception) {
    if (!is_declared_refusal(exception.error(), target)) throw;
    return nullptr;
  }
}

// Compiles a module of functions that do not call each other. Functions that the target refuses by
// design are removed from it.
inline std::shared_ptr<const Executable> compile_supported(Module& module,
                                                           const target::Target& target) {
  if (auto all = compile_or_null(module, target)) return all;
  std::vector<std::string> refused;
  for (const auto& [name, function] : module.functions) {
    Module alone = module;
    std::erase_if(alone.functions, [&](const auto& one) { return one.first != name; });
    if (!compile_or_null(alone, target)) refused.push_back(name);
  }
  for (const std::string& name : refused) module.functions.erase(name);
  return pipeline::compile(module, target);
}

}  // namespace tapml::testing
