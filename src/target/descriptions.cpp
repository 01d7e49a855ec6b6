// Every platform's description, from its folder. Limits there are what code may rely on before a
// device is asked.
#include "abi/platforms.h"
#include "target/target.h"

namespace tapml::target {

#define TAPML_DESCRIBE_PLATFORM(name) Description describe_##name();
TAPML_KNOWN_PLATFORMS(TAPML_DESCRIBE_PLATFORM)
#undef TAPML_DESCRIBE_PLATFORM

const std::vector<Description>& descriptions() {
  static const std::vector<Description> kDescriptions = [] {
    std::vector<Description> all;
#define TAPML_ADD_PLATFORM(name)    \
  all.push_back(describe_##name()); \
  all.back().platform = #name;
    TAPML_KNOWN_PLATFORMS(TAPML_ADD_PLATFORM)
#undef TAPML_ADD_PLATFORM
    return all;
  }();
  return kDescriptions;
}

}  // namespace tapml::target
