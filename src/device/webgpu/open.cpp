#include "device/open.h"

namespace tapml::device {

// WebGPU is in a browser, which no program starts yet.
OpenedDevice open_webgpu(const OpenOptions&) noexcept {
  Error error = platform_error(PlatformFault::kAbsent,
                               "WebGPU is in a browser, and this version of tapml starts none");
  error.hint = "tapml compile and tapml kernel show make its shaders";
  return fail(std::move(error));
}

}  // namespace tapml::device
