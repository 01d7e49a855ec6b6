// What a launcher has to know of a device kernel.
#pragma once

#include "abi/launch.h"
#include "codegen/lower/device_func.h"

namespace tapml::codegen {

// `scalars`: those of the implementation, in order.
LaunchInfo describe_launch(const DeviceFunc& launch, const std::vector<Var>& scalars);

}  // namespace tapml::codegen
