// The platforms that tapml brings models to, in listing order. A platform is its line here and two
// folders:
//   src/target/NAME/  describe.cpp: describe_NAME(), for the compiler and the commands
//                     (target/target.h)
//   src/device/NAME/  open.cpp: open_NAME(), its device (device/open.h)
#pragma once

#define TAPML_KNOWN_PLATFORMS(PLATFORM) \
  PLATFORM(cpu)                         \
  PLATFORM(opencl)                      \
  PLATFORM(vulkan)                      \
  PLATFORM(wasm)                        \
  PLATFORM(webgpu)                      \
  PLATFORM(null)

namespace tapml {

// The default targets of the commands: to run a model, and to bring it up.
inline constexpr const char* kDefaultPlatform = "cpu";
inline constexpr const char* kDefaultNewPlatform = "opencl";

}  // namespace tapml
