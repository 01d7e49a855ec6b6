#include "device/open.h"

namespace tapml::device {

OpenedDevice open_device(const std::string& platform, const OpenOptions& options) noexcept {
  std::string known;
#define TAPML_OPEN_IF_NAMED(name)                     \
  if (platform == #name) return open_##name(options); \
  known += (known.empty() ? "" : ", ") + std::string(#name);
  TAPML_KNOWN_PLATFORMS(TAPML_OPEN_IF_NAMED)
#undef TAPML_OPEN_IF_NAMED
  return fail(user_error("unknown platform", "", "one of " + known, platform));
}

}  // namespace tapml::device
