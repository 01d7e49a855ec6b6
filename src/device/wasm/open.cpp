#include "device/open.h"

namespace tapml::device {

// The program of worker/ contains the device; all other programs connect to that.
OpenedDevice open_wasm(const OpenOptions&) noexcept {
  Error error = platform_error(PlatformFault::kAbsent, "only the wasm worker program serves wasm");
  error.hint =
      "use --target wasm for the worker of this machine, or --target wasm@pipe:... to start "
      "another";
  return fail(std::move(error));
}

}  // namespace tapml::device
