// One emitter for every C-like language.
#pragma once

#include <string>
#include <vector>

#include "codegen/source/dialect.h"

namespace tapml::codegen {

// For whom the code is: people want plain names and few parentheses (readable.h).
enum class Readers : uint8_t { kCompilers, kPeople };

// A source file with all functions (OpenCL C), or one function (GLSL: one shader a file).
std::string emit_source(const std::vector<DeviceFunc>& functions, const Dialect& dialect,
                        Readers readers = Readers::kCompilers);

// The same without what stands in front of the functions (Dialect::prelude): texts of several
// kernels that are put together have one.
std::string emit_functions(const std::vector<DeviceFunc>& functions, const Dialect& dialect,
                           Readers readers = Readers::kCompilers);

}  // namespace tapml::codegen
