#include "device/open.h"

namespace tapml::device {

// The program of worker/ contains the device, in a browser; all other programs connect to that.
OpenedDevice open_webgpu(const OpenOptions&) noexcept {
  Error error =
      platform_error(PlatformFault::kAbsent, "only the worker program in a browser serves webgpu");
  error.hint = "use --target webgpu for a browser of this machine";
  return fail(std::move(error));
}

}  // namespace tapml::device
