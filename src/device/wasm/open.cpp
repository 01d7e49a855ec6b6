#include "device/open.h"

namespace tapml::device {

// The program of worker/ contains the device; all other programs connect to that.
OpenedDevice open_wasm(const OpenOptions&) noexcept {
  Error error = platform_error(PlatformFault::kAbsent, "wasm is served by its own program alone");
  error.hint = "--target wasm@pipe:... starts it, --target wasm the one of this machine";
  return fail(std::move(error));
}

}  // namespace tapml::device
