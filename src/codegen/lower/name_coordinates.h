// Makes a launch readable: names the coordinates of its item in the output.
#pragma once

#include "codegen/lower/device_func.h"

namespace tapml::codegen {

// Moves the indices of the launch's stores that depend only on the item to launch.coordinates, and
// uses their names in the body: `i_n` for dimension n, `i_192` for one of 192. Removes the prefix v
// of reduction iterators, and scalars that the body no longer needs.
void name_coordinates(DeviceFunc& launch);

}  // namespace tapml::codegen
