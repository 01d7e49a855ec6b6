// Modules for OpenCL drivers.
#pragma once

namespace tapml::codegen {

// ModuleBlob::format of source code.
inline constexpr const char* kOpenClFormat = "opencl-c";

}  // namespace tapml::codegen
