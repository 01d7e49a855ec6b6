// Every platform's description, from its folder. Limits there are what code may rely on before a
// device is asked.
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
