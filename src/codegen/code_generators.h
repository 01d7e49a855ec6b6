// tapml's own code generators.
#pragma once

#include "codegen/code_generator.h"

namespace tapml::codegen {

const CodeGenerator& native_generator();    // "native": machine code and WebAssembly, by LLVM
const CodeGenerator& opencl_c_generator();  // "opencl-c"
const CodeGenerator& glsl_generator();      // "glsl": to SPIR-V
const CodeGenerator& none_generator();      // "none": entries without code

// The target's row's, else the one that its description names. InternalError where there is none.
const CodeGenerator& generator_of(const target::Target& target);

// The launches, as of one kernel, as a module for the target.
ModuleBlob compile_module(const std::vector<DeviceFunc>& launches, const target::Target& target);

}  // namespace tapml::codegen
