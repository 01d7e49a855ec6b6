// Detects a migration that compares a platform with itself.
#pragma once

#include <string>

#include "abi/device_info.h"
#include "target/target.h"

namespace tapml::app {

// Whether both run the same code on the same device, or on one with the same description, however
// the targets are written: `opencl` is `opencl:device=0`, and threads do not change the code.
// Targets are as adopted from their devices (target::adopt_device).
bool same_platform(const target::Target& a, const DeviceInfo& a_info, const target::Target& b,
                   const DeviceInfo& b_info);

// Warns if they are the same. `command`: "migrate" or "localize".
void warn_of_same_platform(const std::string& command, const target::Target& source,
                           const DeviceInfo& source_info, const target::Target& target,
                           const DeviceInfo& target_info);

}  // namespace tapml::app
