// A single emitter for every C-like language.
#pragma once

#include <string>
#include <vector>

#include "codegen/source/dialect.h"

namespace tapml::codegen {

// Who reads the code: for people, names are plain and parentheses few (readable.h).
enum class Readers : uint8_t { kCompilers, kPeople };

// A source file with all functions (OpenCL C), or one function (GLSL: one shader a file).
std::string emit_source(const std::vector<DeviceFunc>& functions, const Dialect& dialect,
                        Readers readers = Readers::kCompilers);

// The same without the text before the functions (Dialect::prelude), which is needed only once when
// the functions of several kernels are concatenated.
std::string emit_functions(const std::vector<DeviceFunc>& functions, const Dialect& dialect,
                           Readers readers = Readers::kCompilers);

}  // namespace tapml::codegen
