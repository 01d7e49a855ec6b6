// The built-in code generators.
#pragma once

#include "codegen/code_generator.h"

namespace tapml::codegen {

const CodeGenerator& native_generator();    // "native": machine code and WebAssembly, through LLVM
const CodeGenerator& opencl_c_generator();  // "opencl-c"
const CodeGenerator& glsl_generator();      // "glsl": compiled to SPIR-V
const CodeGenerator& wgsl_generator();      // "wgsl": text, one shader a launch
const CodeGenerator& none_generator();      // "none": entries without code

// The generator set in the target's row, otherwise the one that its description names.
// InternalError if there is none.
const CodeGenerator& generator_of(const target::Target& target);

// Compiles the launches, as one kernel, to a module for the target.
ModuleBlob compile_module(const std::vector<DeviceFunc>& launches, const target::Target& target);

}  // namespace tapml::codegen
