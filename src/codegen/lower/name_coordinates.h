// A launch for people: where its item lies in the output, by name.
#pragma once

#include "codegen/lower/device_func.h"

namespace tapml::codegen {

// Moves the indices of the launch's stores, where they are computed from the item alone, to
// launch.coordinates and puts their names into the body: `i_n` for the dimension n, `i_192` for one
// of 192. Reduction steps lose the v of a block's iterators. Scalars that the body then does not
// need leave the launch.
void name_coordinates(DeviceFunc& launch);

}  // namespace tapml::codegen
