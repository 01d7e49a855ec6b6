// The platforms that tapml brings models to, in the order in which they are listed. A platform is
// its line here and two folders:
//   src/target/NAME/  describe.cpp: describe_NAME(), what compiler and commands know of it
//                     (target/target.h)
//   src/device/NAME/  open.cpp: open_NAME(), its device (device/open.h)
#pragma once

#define TAPML_KNOWN_PLATFORMS(PLATFORM) \
  PLATFORM(cpu)                         \
  PLATFORM(opencl)                      \
  PLATFORM(vulkan)                      \
  PLATFORM(wasm)                        \
  PLATFORM(null)

namespace tapml {

// What commands take where nobody names a target: to run a model, and to bring it up.
inline constexpr const char* kDefaultPlatform = "cpu";
inline constexpr const char* kDefaultNewPlatform = "opencl";

}  // namespace tapml
