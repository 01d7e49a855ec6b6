// Modules for the drivers of OpenCL.
#pragma once

namespace tapml::codegen {

// ModuleBlob::format of a source.
inline constexpr const char* kOpenClFormat = "opencl-c";

}  // namespace tapml::codegen
