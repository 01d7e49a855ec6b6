// The descriptions of all platforms, each from its folder. Their limits hold for every device,
// before one is queried.
#include "abi/platforms.h"

#include "target/target.h"

namespace tapml::target {

#define TAPML_DESCRIBE_PLATFORM(name) Description describe_##name();
TAPML_KNOWN_PLATFORMS(TAPML_DESCRIBE_PLATFORM)
#undef TAPML_DESCRIBE_PLATFORM

const PlatformTable& platforms() {
  static const PlatformTable kPlatforms = [] {
    PlatformTable all;
#define TAPML_ADD_PLATFORM(name)                      \
  all.emplace_back().description = describe_##name(); \
  all.back().description.platform = #name;
    TAPML_KNOWN_PLATFORMS(TAPML_ADD_PLATFORM)
#undef TAPML_ADD_PLATFORM
    return all;
  }();
  return kPlatforms;
}

}  // namespace tapml::target
