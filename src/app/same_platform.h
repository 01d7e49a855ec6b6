// Whether a migration compares a platform with itself.
#pragma once

#include <string>

#include "abi/device_info.h"
#include "target/target.h"

namespace tapml::app {

// Whether both run the same code on the same device, or on one that describes itself in the same
// way, however the targets are written: `opencl` is `opencl:device=0`, and threads make no other
// code. Targets as their devices made them (target::adopt_device).
bool same_platform(const target::Target& a, const DeviceInfo& a_info, const target::Target& b,
                   const DeviceInfo& b_info);

// Warns where they are the same. `command`: "migrate" or "localize".
void warn_of_same_platform(const std::string& command, const target::Target& source,
                           const DeviceInfo& source_info, const target::Target& target,
                           const DeviceInfo& target_info);

}  // namespace tapml::app
